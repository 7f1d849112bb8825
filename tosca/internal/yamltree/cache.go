package yamltree

import "sync"

// Cache holds the trees of documents that several descriptors contain, by file name and content. It is safe for concurrent use, and so are
// its trees. The zero Cache is empty.
type Cache struct {
	mu    sync.Mutex
	trees map[cacheKey]*cachedTree
	cost  int // of all trees
	uses  int // of the Cache
}

type cacheKey struct{ file, content string }

type cachedTree struct {
	root  *Node
	cost  int
	nodes int // what the tree takes from the budget of a parser
	used  int // Cache.uses at the last use
}

const (
	// maxCost limits the estimated memory of a Cache in bytes: that of 20 sets of ETSI's type files.
	maxCost = 32 << 20
	// nodeCost estimates the memory of a node in bytes.
	nodeCost = 200
)

// take returns the tree of a document if the budget has room for its nodes, and takes them from the budget.
func (c *Cache) take(file string, content []byte, budget *int) *Node {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	tree := c.trees[cacheKey{file, string(content)}]
	if tree == nil || tree.nodes > *budget {
		return nil
	}
	*budget -= tree.nodes
	c.uses++
	tree.used = c.uses
	return tree.root
}

// Add adds the tree of a document that has no problems. Other goroutines may read the tree afterwards, so its misfits are no longer
// reported.
func (c *Cache) Add(content []byte, root *Node) {
	key := cacheKey{root.Pos.File, string(content)}
	added := &cachedTree{root: root, nodes: root.size, cost: len(content) + nodeCost*root.size}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trees[key] != nil || added.cost > maxCost {
		return
	}
	root.share()
	if c.trees == nil {
		c.trees = map[cacheKey]*cachedTree{}
	}
	c.uses++
	added.used = c.uses
	c.trees[key] = added
	for c.cost += added.cost; c.cost > maxCost; {
		c.removeOldest()
	}
}

// removeOldest removes the tree that was not used for the longest time.
func (c *Cache) removeOldest() {
	var oldest cacheKey
	used := c.uses + 1
	for key, tree := range c.trees {
		if tree.used < used {
			oldest, used = key, tree.used
		}
	}
	c.cost -= c.trees[oldest].cost
	delete(c.trees, oldest)
}

// share makes a tree safe for concurrent use.
func (n *Node) share() {
	n.misfit = nil
	for _, f := range n.Fields {
		f.Value.share()
	}
	for _, item := range n.Items {
		item.share()
	}
}
