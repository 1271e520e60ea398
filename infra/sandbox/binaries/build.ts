/**
 * `node infra/sandbox/binaries/build.ts KUBERNETES KUBEVIRT ETCD DIR`: builds the programs of a real control plane from
 * three checkouts, and prints what KubeVirt's operator would install. Needs Go as new as the newest of them asks for.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const [kubernetes, kubevirt, etcd, target] = process.argv.slice(2).map((path) => resolve(path));
if (kubernetes === undefined || kubevirt === undefined || etcd === undefined || target === undefined) {
  console.error("Usage: node infra/sandbox/binaries/build.ts KUBERNETES KUBEVIRT ETCD DIR");
  process.exit(2);
}
const bin = join(target, "bin");
const gen = join(target, "gen");
for (const folder of [bin, gen]) mkdirSync(folder, { recursive: true });

function run(folder: string, command: string, args: readonly string[]): string {
  const options = { cwd: folder, env: { ...process.env, CGO_ENABLED: "0" }, maxBuffer: 2 ** 26 };
  return execFileSync(command, [...args], { ...options, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

function build(folder: string, name: string, from: string, stamps: readonly string[] = []): void {
  const flags = ["-s", "-w", ...stamps.map((stamp) => `-X ${stamp}`)].join(" ");
  run(folder, "go", ["build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", join(bin, name), from]);
  console.log(name);
}

/** `v1.36.2`, or what is closest to it. */
function versionOf(folder: string): string {
  return run(folder, "git", ["describe", "--tags", "--abbrev=0"]).trim();
}

build(join(etcd, "server"), "etcd", ".");

const version = versionOf(kubernetes);
const [major = "", minor = ""] = version.slice(1).split(".");
const stamped = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].flatMap((path) => [
  `${path}.gitVersion=${version}`,
  `${path}.gitMajor=${major}`,
  `${path}.gitMinor=${minor}`,
]);
for (const name of ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"])
  build(kubernetes, name, `./cmd/${name}`, stamped);

const ofKubeVirt = [`kubevirt.io/client-go/version.gitVersion=${versionOf(kubevirt)}`];
for (const name of ["virt-api", "virt-controller", "virtctl"]) build(kubevirt, name, `./cmd/${name}`, ofKubeVirt);

/** The operator's own functions say what it would install; each list becomes a file. JSON is YAML. */
const PRINTER = `package main

import (
	"encoding/json"
	"os"
	"path/filepath"

	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/components"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/rbac"
)

const namespace = "kubevirt"

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func print[T any](file string, objects []T) {
	out, err := os.Create(filepath.Join(os.Args[1], file))
	check(err)
	defer out.Close()
	for _, object := range objects {
		text, err := json.Marshal(object)
		check(err)
		fields := map[string]any{}
		check(json.Unmarshal(text, &fields))
		delete(fields, "status")
		delete(fields["metadata"].(map[string]any), "creationTimestamp")
		text, err = json.Marshal(fields)
		check(err)
		_, err = out.WriteString("---\\n" + string(text) + "\\n")
		check(err)
	}
}

func main() {
	definitions := []any{}
	for _, define := range []func() (any, error){
DEFINITIONS
	} {
		definition, err := define()
		check(err)
		definitions = append(definitions, definition)
	}
	print("crds.yaml", definitions)
	roles := rbac.GetAllCluster()
	roles = append(roles, rbac.GetAllApiServer(namespace)...)
	roles = append(roles, rbac.GetAllController(namespace, true)...)
	roles = append(roles, rbac.GetAllHandler(namespace)...)
	print("rbac.yaml", roles)
	print("prio.yaml", []any{components.NewKubeVirtPriorityClassCR()})
	print("mutating.yaml", []any{components.NewVirtAPIMutatingWebhookConfiguration(namespace)})
	print("validating.yaml", []any{components.NewVirtAPIValidatingWebhookConfiguration(namespace)})
	print("apiservices.yaml", components.NewVirtAPIAPIServices(namespace))
}
`;

/** Those that virt-api and virt-controller watch. */
const DEFINED =
  "KubeVirt VirtualMachineInstance Preset ReplicaSet VirtualMachine VirtualMachineInstanceMigration VirtualMachineSnapshot " +
  "VirtualMachineSnapshotContent VirtualMachineRestore VirtualMachineInstancetype VirtualMachineClusterInstancetype " +
  "VirtualMachinePool MigrationPolicy VirtualMachinePreference VirtualMachineClusterPreference VirtualMachineExport " +
  "VirtualMachineClone VirtualMachineBackup VirtualMachineBackupTracker Plugin";
const lines = DEFINED.split(" ").map((name) => `\t\tfunc() (any, error) { return components.New${name}Crd() },`);
// The program has to be a part of KubeVirt's module: its packages are not for others.
const folder = mkdtempSync(join(kubevirt, "cmd/print-"));
try {
  writeFileSync(join(folder, "main.go"), PRINTER.replace("DEFINITIONS", lines.join("\n")));
  run(kubevirt, "go", ["run", "-buildvcs=false", folder, gen]);
  console.log(gen);
} finally {
  rmSync(folder, { recursive: true });
}
