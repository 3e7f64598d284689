package deploy

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"
)

// manifests are the objects of deploy/kubernetes by file. Every one is decoded strictly: an unknown or repeated field fails.
func manifests(t *testing.T) map[string][]runtime.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, autoscalingv2.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
	} {
		require.NoError(t, add(scheme))
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	files, err := filepath.Glob(filepath.Join(root(t), "deploy", "kubernetes", "*.yaml"))
	require.NoError(t, err)
	objects := make(map[string][]runtime.Object)
	for _, file := range files {
		name := filepath.Base(file)
		if name == "kustomization.yaml" || name == "adapter-rule.yaml" {
			continue // of no API server
		}
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, document := range bytes.Split(data, []byte("\n---\n")) {
			object, _, err := decoder.Decode(document, nil, nil)
			require.NoError(t, err, "%s:\n%s", name, document)
			objects[name] = append(objects[name], object)
		}
	}
	return objects
}

func TestManifests_AreKnownToKubernetesAndToThePrograms(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for file, objects := range manifests(t) {
		for _, object := range objects {
			deployment, is := object.(*appsv1.Deployment)
			if !is {
				continue
			}
			require.Len(t, deployment.Spec.Template.Spec.Containers, 1, file)
			pod := deployment.Spec.Template.Spec
			container := pod.Containers[0]
			program := strings.TrimPrefix(container.Command[0], "/usr/local/bin/")
			seen[program] = true
			environment := make(map[string]string)
			for _, variable := range container.Env {
				environment[variable.Name] = variable.Value
				if variable.ValueFrom != nil {
					environment[variable.Name] = "redis://redis:6379"
				}
			}
			accepts(t, program, environment)
			require.True(t, *pod.SecurityContext.RunAsNonRoot, file)
			require.True(t, *container.SecurityContext.ReadOnlyRootFilesystem, file)
			require.False(t, *container.SecurityContext.AllowPrivilegeEscalation, file)
			require.Equal(t, deployment.Spec.Selector.MatchLabels, deployment.Spec.Template.Labels, file)
			if program == "worker" {
				drain, err := time.ParseDuration(environment["PAWL_DRAIN_TIMEOUT"])
				require.NoError(t, err)
				grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second
				require.GreaterOrEqual(t, grace, drain+handBack, "the drain and handing back fit the grace period")
			}
		}
	}
	require.Equal(t, map[string]bool{"api": true, "worker": true, "reaper": true}, seen)
}

// handBack is how long, beyond the drain time, a stopping worker may take: to hand its steps back and to leave the queue.
const handBack = 15 * time.Second

func TestManifests_TheAutoscalerReadsWhatTheAdapterMakes(t *testing.T) {
	t.Parallel()
	objects := manifests(t)["autoscaler.yaml"]
	require.Len(t, objects, 1)
	autoscaler, is := objects[0].(*autoscalingv2.HorizontalPodAutoscaler)
	require.True(t, is)
	require.Equal(t, "pawl-worker", autoscaler.Spec.ScaleTargetRef.Name)
	data, err := os.ReadFile(filepath.Join(root(t), "deploy", "kubernetes", "adapter-rule.yaml"))
	require.NoError(t, err)
	var adapter struct {
		Rules struct {
			External []struct {
				SeriesQuery  string                  `json:"seriesQuery"`
				Resources    struct{ Overrides any } `json:"resources"`
				Name         struct{ As string }     `json:"name"`
				MetricsQuery string                  `json:"metricsQuery"`
			} `json:"external"`
		} `json:"rules"`
	}
	require.NoError(t, yaml.UnmarshalStrict(data, &adapter))
	require.Len(t, adapter.Rules.External, 1)
	require.Equal(t, adapter.Rules.External[0].Name.As, autoscaler.Spec.Metrics[0].External.Metric.Name)
}

func TestManifests_TheKustomizationNamesFilesThatAreThere(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(root(t), "deploy", "kubernetes")
	data, err := os.ReadFile(filepath.Join(folder, "kustomization.yaml"))
	require.NoError(t, err)
	var kustomization struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Resources  []string `json:"resources"`
		Images     []struct {
			Name    string `json:"name"`
			NewName string `json:"newName"`
			NewTag  string `json:"newTag"`
		} `json:"images"`
	}
	require.NoError(t, yaml.UnmarshalStrict(data, &kustomization))
	for _, file := range kustomization.Resources {
		require.FileExists(t, filepath.Join(folder, file))
	}
}
