package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConfigMaps returns the data of the ConfigMaps of a namespace that have a label, such as "example.org/kind=part", by
// their names. An empty label selects all.
func (c *Cluster[R]) ConfigMaps(ctx context.Context, namespace, label string) (data map[string]map[string]string, err error) {
	err = c.on(ctx, func(ctx context.Context, s *session) error {
		var list corev1.ConfigMapList
		if err := s.list(ctx, named["configmap"], namespace, metav1.ListOptions{LabelSelector: label}, &list); err != nil {
			return err
		}
		data = map[string]map[string]string{}
		for _, m := range list.Items {
			data[m.Name] = m.Data
		}
		return nil
	})
	return data, err
}
