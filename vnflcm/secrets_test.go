package vnflcm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// hostile are difficult values of a secret. The test uses each value in every attribute.
var hostile = map[string]string{
	"plain":    "canary-plain-123",
	"quotes":   `canary'"'"'` + "`quoted`" + `"\`,
	"shell":    "canary; $(reboot) && `id` | $HOME",
	"newlines": "-----BEGIN CANARY-----\ncanary-line-one\r\ncanary-line-two\n-----END CANARY-----\n",
	"html":     "canary<&>%41%2F@/:?#",
	"unicode":  "canäry\u2028\u0000\t☠",
	"64 KiB":   "canary" + strings.Repeat("0123456789abcdef", 4096),
}

// leaker is a driver that writes secrets to logs, errors and events.
type leaker struct {
	cluster
	leak func(op *vnflcm.Operation) string
}

func (l *leaker) Hooks() vnflcm.Hooks {
	hooks := l.cluster.Hooks()
	hooks[vnflcm.InstantiateEnd] = func(ctx context.Context, op *vnflcm.Operation) error {
		text := l.leak(op)
		op.Log.InfoContext(ctx, text, "text", text, "quoted", strconv.Quote(text), "error", errors.New(text),
			slog.Group("group", "inner", text), "params", op.Params, "request", op.Instantiate, "operation", op, "vim", op.VIM)
		op.Log.With("attribute", text).WithGroup("g").WarnContext(ctx, "again", "text", text)
		op.Report(ctx, "before a step: "+text)
		if err := op.State().Put(ctx, "secret", vnflcm.NewSecret(text)); err != nil {
			return err
		}
		return vnflcm.Do(ctx, op, "leak", "", func(ctx context.Context) error {
			op.Report(ctx, "in a step: "+text)
			return errors.Join(&leakyCommand{text}, fmt.Errorf("quoted: %q", text), errors.New(url.QueryEscape(text)))
		})
	}
	return hooks
}

type leakyCommand struct{ text string }

func (e *leakyCommand) Error() string { return "run " + e.text }
func (e *leakyCommand) CommandFailure() (host, command string, exitCode int, stderr string) {
	return e.text, "echo " + e.text, 1, "not found: " + e.text
}

func jsonText(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	for name, secret := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var logs, events bytes.Buffer
			var mu sync.Mutex
			x := newToys(t, func(cfg *vnflcm.Config) {
				cfg.Logger = slog.New(slog.NewJSONHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
				cfg.Observe = func(e vnflcm.Event) {
					mu.Lock()
					defer mu.Unlock()
					fmt.Fprintf(&events, "%+v\n", e)
				}
			})
			// Every attribute has a different canary, because masking of one attribute must not hide a leak of another.
			planted := map[string]string{}
			plain := func(place string) string {
				planted[place] = place + "-" + secret
				if len(secret) > 1<<10 && place != "declared" { // one long secret is enough, and many take much time
					planted[place] = place + "-" + secret[:100]
				}
				return planted[place]
			}
			plant := func(place string) string { return jsonText(plain(place)) }
			inURL := "u-" + url.PathEscape(secret[:min(len(secret), 1<<10)])
			planted["url"] = inURL
			req := vnflcm.InstantiateVnfRequest{FlavourID: "plain",
				AdditionalParams: params(t, `{"password":`+plant("declared")+`,"declared":[{"inner":`+plant("nested")+`}],
					"deep":{"adminPassword":`+plant("byname")+`,"bearer-token":`+plant("dashed")+`},"helmparameter":[`+jsonText("db.password="+plain("assigned"))+`],
					"proxy":{"http_proxy":`+jsonText("http://user1:"+inURL+"@host1:port1")+`}}`),
				VimConnectionInfo: vnflcm.VimConnections{{ID: "v", VimType: "toy", AccessInfo: params(t, `{"password":`+plant("access")+`,"username":"u"}`),
					Extra: params(t, `{"helm_info":{"masternode_password":`+plant("extra")+`}}`)}},
			}
			x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": &leaker{cluster{world: x.world}, func(*vnflcm.Operation) string {
				all := []string{}
				for _, s := range planted {
					all = append(all, s)
				}
				return strings.Join(all, " and ") + " via http://user1:" + inURL + "@host1:port1/x"
			}}}
			x.start()
			id := x.create()
			opID, err := x.Instantiate(t.Context(), id, req)
			occ, err := x.wait(opID, err, vnflcm.FailedTemp)
			public, _ := json.Marshal([]any{occ, x.get(id), req, occ.Error})
			mu.Lock()
			defer mu.Unlock()
			outputs := map[string]string{"error": err.Error(), "problem": occ.Error.Error(), "log": logs.String(), "events": events.String(),
				"public JSON":  string(public),
				"%v":           fmt.Sprintf("%v %v %v", occ, req, occ.Error),
				"%+v":          fmt.Sprintf("%+v %+v %+v", occ, req, *occ.Error),
				"%#v":          fmt.Sprintf("%#v %#v %#v", *occ, req, *occ.Error),
				"%s %q %x":     fmt.Sprintf("%s %q %x", occ.OperationParams, req.AdditionalParams, req.VimConnectionInfo[0].AccessInfo),
				"stored in it": x.stored()}
			for where, text := range outputs {
				if !strings.Contains(text, "***") && where != "stored in it" {
					t.Errorf("%s: contains no mask, so the test does not check it: %.200s", where, text)
				}
				for place, canary := range planted {
					for _, form := range []string{canary, jsonText(canary)[1 : len(jsonText(canary))-1], strconv.Quote(canary), url.QueryEscape(canary)} {
						if i := strings.Index(text, form); i >= 0 {
							t.Errorf("%s: contains the canary of %q: %.200s", where, place, text[i:])
						}
					}
					if strings.Contains(text, place+"-canary") {
						t.Errorf("%s: contains a part of the canary of %q", where, place)
					}
				}
			}
		})
	}
}

// stored returns all bytes in the store, sealed and in clear.
func (x *toys) stored() string {
	x.t.Helper()
	var out strings.Builder
	for _, kind := range []string{"instance", "operation", "step", "state", "vim", "vim-default", "claim", "cancel"} {
		list, err := x.cfg.Store.List(x.t.Context(), store.Query{Kind: kind})
		must(x.t, err)
		for _, r := range list {
			out.WriteString(r.Kind + r.ID + string(r.Body))
		}
	}
	return out.String()
}

// TestOperationPrintsNoSecret checks that a driver can log its Operation.
func TestOperationPrintsNoSecret(t *testing.T) {
	t.Parallel()
	var got string
	x := newToys(t, nil)
	x.watch(func(op *vnflcm.Operation) {
		got = fmt.Sprintf("%v %+v %#v %+v %#v", *op, *op, *op, op.Instantiate, *op.Instantiate)
	})
	opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain",
		AdditionalParams: params(t, `{"password":"canary-1","other":"canary-2"}`), Extensions: params(t, `{"x":"canary-3"}`)})
	x.wait(opID, err, vnflcm.Completed)
	if got == "" || strings.Contains(got, "canary") {
		t.Errorf("the Operation prints %s", got)
	}
}

func TestGranterErrorsAreMasked(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(cfg *vnflcm.Config) {
		cfg.Granter = granter(func(context.Context, vnflcm.GrantRequest) (*vnflcm.Grant, error) {
			return nil, errors.New("refused: canary-1")
		})
	})
	opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: params(t, `{"password":"canary-1"}`)})
	occ, err := x.wait(opID, err, vnflcm.RolledBack)
	if strings.Contains(err.Error()+occ.Error.Detail, "canary") {
		t.Errorf("%v", err)
	}
}

func TestPlanErrorsAreMasked(t *testing.T) {
	t.Parallel()
	fault := &vnflcm.ParamError{Path: "a", Reason: "canary-1 is too short"}
	w := newWorld()
	x := newToys(t, func(cfg *vnflcm.Config) { cfg.Infra["toy"] = &cloud{world: w, planFault: fault} })
	_, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: params(t, `{"password":"canary-1"}`)})
	if err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("%v", err)
	}
}

func TestSecretsReplacedByALaterRequestStayMasked(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.create()
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: params(t, `{"password":"canary-old"}`)})
	x.wait(opID, err, vnflcm.Completed)
	x.world.failAt("heal/replace/worker-0", errors.New("neither canary-old nor canary-new works"))
	opID, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{AdditionalParams: params(t, `{"password":"canary-new"}`)})
	_, err = x.wait(opID, err, vnflcm.FailedTemp)
	if strings.Contains(err.Error(), "canary") {
		t.Errorf("%v", err)
	}
}

func TestParamErrorsShowNoHalfURL(t *testing.T) {
	t.Parallel()
	var into struct {
		Port int `json:"port"`
	}
	_, err := params(t, `{"port":"http://user:canary`+strings.Repeat("x", 100)+`@host/"}`).Decode(&into)
	if err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("%v", err)
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	s := vnflcm.NewSecret("canary")
	type wrap struct {
		hidden vnflcm.Secret
		Shown  vnflcm.Secret
		Ptr    *vnflcm.Secret
	}
	text := fmt.Sprintf("%v %+v %#v %s %q %x", s, s, s, s, s, s) + fmt.Sprintf("%+v %#v", wrap{s, s, &s}, wrap{s, s, &s})
	if strings.Contains(text, "canary") || strings.Contains(text, fmt.Sprintf("%x", "canary")) {
		t.Errorf("printed as %s", text)
	}
	var back vnflcm.Secret
	for _, bad := range []string{`"***"`, `1`, `{}`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s was read as a secret", bad)
		}
	}
	must(t, json.Unmarshal([]byte(`"canary"`), &back))
	if !back.Equal(s) || back.IsZero() || !(vnflcm.Secret{}).IsZero() || s.Equal(vnflcm.Secret{}) {
		t.Error("Equal or IsZero is wrong")
	}
}

// TestOverlappingSecrets checks that no part of two secrets that overlap in a text remains.
func TestOverlappingSecrets(t *testing.T) {
	t.Parallel()
	mask := maskOf(t, "abcXYZ", "XYZdef")
	for text, want := range map[string]string{"<abcXYZdef>": "<***>", "abcXYZ XYZdef": "*** ***", "abcXYZXYZdef": "***", "abc": "abc"} {
		if got := mask(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}

// TestTextsStayReadable checks that only distinctive secrets are masked everywhere.
func TestTextsStayReadable(t *testing.T) {
	t.Parallel()
	for secret, texts := range map[string]map[string]string{
		"ansible": { // an ordinary word is masked only after the name of a secret
			"ansible-playbook of /opt/ansible/kubespray: user ansible": "ansible-playbook of /opt/ansible/kubespray: user ansible",
			`exec: "ansible": not found`:                               `exec: "ansible": not found`,
			"password ansible refused":                                 "password *** refused",
			"the password is ansible":                                  "the password is ***",
			"ANSIBLE_PASSWORD=ansible":                                 "ANSIBLE_PASSWORD=***",
			"ansible_become_pass: 'ansible'":                           "ansible_become_pass: '***'",
			`{"user":"ansible","ansible_password": "ansible"}`:         `{"user":"ansible","ansible_password": "***"}`,
			`{\"password\":\"ansible\"}`:                               `{\"password\":\"***\"}`,
			"sshpass -p ansible ssh ansible@host":                      "sshpass -p *** ssh ansible@host",
			`["sshpass", "-p", "ansible"]`:                             `["sshpass", "-p", "***"]`,
			"--token ansible.cfg; mysql -pansible":                     "--token ansible.cfg; mysql -p***",
			"ssh://ansible:ansible@host":                               "ssh://***@host",
		},
		"registry":               {"registry is not ready; password: registry": "registry is not ready; password: ***"},
		"6443":                   {"port 6443; pin_token 6443": "port 6443; pin_token ***"},
		"ab":                     {"a table; secret=ab": "a table; secret=***"},
		"x":                      {"x; password=x": "x; password=x"},
		"471147":                 {"port 47114; 1471147 and 471147": "port 47114; 1471147 and ***"}, // a short secret is masked only as a whole word
		"k8s1":                   {"k8s1-master, k8s10, -pk8s1": "***-master, k8s10, -p***"},
		"hunter2":                {"hunter2, xhunter2y": "***, x***y"}, // a distinctive secret is masked everywhere
		"Sesame":                 {"Sesame opens; password Sesame": "Sesame opens; password ***"},
		"opensesame":             {"opensesame1": "***1"},
		"12345678901234567890":   {"x12345678901234567890": "x***"},
		"correct horse battery":  {"correct horse battery; correct horse": "***; correct horse"},
		"pässwörter-für-später!": {"pässwörter-für-später!": "***"},
	} {
		mask := maskOf(t, secret, secret)
		for text, want := range texts {
			if got := mask(text); got != want {
				t.Errorf("secret %q: %s\nbecame %s\nwant   %s", secret, text, got, want)
			}
		}
	}
}

// TestParamPathsStayReadable checks that paths of attributes are not masked, even if a secret equals a part of a path.
func TestParamPathsStayReadable(t *testing.T) {
	t.Parallel()
	const path = "additionalParams.k8s_cluster_installation_param.ansible.kubespray_root_path"
	for _, secret := range []string{"ansible", "kubespray_root_path", "k8s_cluster_installation_param.ansible"} {
		fault := errors.Join(fmt.Errorf("the plan: %w", &vnflcm.ParamError{Path: path, Value: "at " + secret + "1", Reason: "the password " + secret + " does not work"}))
		want := fmt.Sprintf("the plan: %s: %q: the password *** does not work", path, map[bool]string{true: "at " + secret + "1", false: "at ***1"}[secret == "ansible"])
		request := vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: params(t, `{"password":"`+secret+`"}`)}

		x := newToys(t, nil)
		x.cfg.Infra["toy"] = &cloud{world: x.world, planFault: fault}
		x.start()
		_, err := x.Instantiate(t.Context(), x.create(), request)
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("%s: the error of Instantiate:\n%s", secret, diff)
		}
		if diff := cmp.Diff([]string{path}, faults(err)); diff != "" {
			t.Error(diff)
		}

		var logs bytes.Buffer
		var message string
		y := newToys(t, func(cfg *vnflcm.Config) {
			cfg.Logger = slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
			cfg.Observe = func(e vnflcm.Event) {
				if e.Kind == vnflcm.StepFailed {
					message = e.Message
				}
			}
		})
		y.world.failAt("instantiate_end/init/", fault)
		opID, err := y.Instantiate(t.Context(), y.create(), request)
		occ, err := y.wait(opID, err, vnflcm.FailedTemp)
		for where, got := range map[string]string{"error": err.Error(), "problem": occ.Error.Detail, "step": occ.Error.Steps[0].Message, "event": message} {
			if !strings.HasSuffix(got, want) {
				t.Errorf("%s: %s: %s, want %s", secret, where, got, want)
			}
		}
		if strings.Contains(logs.String(), "password "+secret) {
			t.Errorf("the log: %s", &logs)
		}
	}
}

// TestLogNamesSecrets checks that the value of a log attribute whose name suggests a secret is masked.
func TestLogNamesSecrets(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	x := newToys(t, func(cfg *vnflcm.Config) { cfg.Logger = slog.New(slog.NewTextHandler(&logs, nil)) })
	var none *leakyCommand
	x.watch(func(op *vnflcm.Operation) {
		op.Log.Info("log in", "user", "ansible", "ansible_password", "ansible", "error", fmt.Errorf("password ansible: %w", errCut), "no_error", none)
	})
	opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: params(t, `{"password":"ansible"}`)})
	x.wait(opID, err, vnflcm.Completed)
	if want := `msg="log in"`; !strings.Contains(logs.String(), want) {
		t.Fatalf("no %s in %s", want, &logs)
	}
	for _, want := range []string{"user=ansible", "ansible_password=***", `error="password ***: cut off"`} {
		if !strings.Contains(logs.String(), want) {
			t.Errorf("no %s in %s", want, &logs)
		}
	}
}
