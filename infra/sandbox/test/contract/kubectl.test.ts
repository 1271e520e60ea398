/** The real kubectl against the server: commands and their output. Runs where kubectl is on PATH. */
import { execFile, spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Target } from "./client.ts";
import { pod } from "./requests.ts";
import { connect } from "./target.ts";

interface Output {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const NAMESPACE = `kubectl-${process.pid}`;
const NODE = `node-${process.pid}`;
const isInstalled = spawnSync("kubectl", ["version", "--client"]).status === 0;

describe.runIf(isInstalled)("kubectl", () => {
  let target: Target;
  let folder = "";
  const environment = (): NodeJS.ProcessEnv => ({
    ...process.env,
    KUBECONFIG: join(folder, "kubeconfig"),
    HOME: folder,
  });

  const kubectl = (command: string, input?: unknown): Promise<Output> =>
    new Promise((resolve) => {
      const args = command.split(" ");
      const child = execFile("kubectl", ["-n", NAMESPACE, ...args], { env: environment() }, (error, out, err) =>
        resolve({ code: error === null ? 0 : 1, out, err }),
      );
      child.stdin?.end(input === undefined ? "" : JSON.stringify(input));
    });
  const prints = async (command: string, expected: string | RegExp, input?: unknown): Promise<void> => {
    const { out, err } = await kubectl(command, input);
    expect(out, err).toMatch(expected);
  };

  beforeAll(async () => {
    target = await connect();
    folder = await mkdtemp(join(tmpdir(), "kubectl-"));
    await writeFile(join(folder, "kubeconfig"), target.kubeconfig);
    await kubectl(`create namespace ${NAMESPACE}`);
    const status = {
      conditions: [{ type: "Ready", status: "True" }],
      capacity: { cpu: "4" },
      allocatable: { cpu: "4" },
    };
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: NODE }, status };
    expect(await kubectl("create -f -", node)).toMatchObject({ code: 0 });
    const bound = {
      metadata: { labels: { app: "a" } },
      spec: { nodeName: NODE, tolerations: [{ operator: "Exists" }] },
    };
    expect(await kubectl("create -f -", pod("p", bound))).toMatchObject({ code: 0 });
  });
  afterAll(async () => {
    await kubectl(`delete node ${NODE}`);
    await kubectl(`delete namespace ${NAMESPACE} --wait=false`);
    await target.stop();
    await rm(folder, { recursive: true, force: true });
  });

  describe("get and describe", () => {
    test("pods", () => prints("get pods", /^NAME +READY +STATUS +RESTARTS +AGE\np +0\/2 +Pending +0 +\d+s\n$/));
    test("pods, wide", () =>
      prints("get pods -o wide", new RegExp(`^NAME .* IP +NODE +NOMINATED NODE +READINESS GATES\\np .* ${NODE} `)));
    test("pods by node", () => prints(`get pods --field-selector spec.nodeName=${NODE} -o name`, /^pod\/p\n$/));
    test("as YAML", () => prints("get pod p -o yaml", /^apiVersion: v1\nkind: Pod\nmetadata:\n/));
    test("by JSONPath", () => prints("get pod p -o jsonpath={.spec.containers[1].image}", /^example\/two$/));
    test("nodes", () =>
      prints(`get node ${NODE}`, new RegExp(`^NAME +STATUS +ROLES +AGE +VERSION *\\n${NODE} +Ready +<none> `)));
    test("nothing", () => prints("get configmaps -l no=where", /^$/));
    test("what is missing", async () => {
      expect((await kubectl("get pod none")).err).toContain('Error from server (NotFound): pods "none" not found');
    });
    test("describe a pod", () =>
      prints("describe pod p", /^Name: +p\n[^]*Image: +example\/one\n[^]*Tolerations: +op=Exists\n/));
    test("describe a node", () => prints(`describe node ${NODE}`, /Non-terminated Pods: +\(1 in total\)[^]* p /));
    test("resources", () =>
      prints("api-resources", /^poddisruptionbudgets +pdb +policy\/v1 +true +PodDisruptionBudget$/m));
    test("explain", () => prints("explain pod.spec.nodeName", /FIELD: nodeName <string>/));
    test("version", () => prints("version", /^Server Version: v1\.\d+\.\d+/m));
  });

  describe("changes", () => {
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { a: "1" } };
    const budget = {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "b" },
      spec: { minAvailable: 1, selector: { matchLabels: { app: "a" } } },
    };
    test("apply creates", () => prints("apply -f -", /^configmap\/c created\n$/, map));
    test("apply the same", () => prints("apply -f -", /^configmap\/c unchanged\n$/, map));
    test("apply a change", () => prints("apply -f -", /^configmap\/c configured\n$/, { ...map, data: { b: "2" } }));
    test("which took the old value away", () => prints("get configmap c -o jsonpath={.data}", /^\{"b":"2"\}$/));
    test("apply by the server conflicts", async () => {
      const { err } = await kubectl("apply --server-side --field-manager other -f -", { ...map, data: { b: "3" } });
      expect(err).toMatch(
        /Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: \.data\.b/,
      );
    });
    test("unless forced", () =>
      prints("apply --server-side --force-conflicts -f -", /^configmap\/c serverside-applied\n$/, {
        ...map,
        data: { b: "3" },
      }));
    test("create a budget", () => prints("create -f -", /^poddisruptionbudget\.policy\/b created\n$/, budget));
    test("a field that does not exist", async () => {
      const { err } = await kubectl("create -f -", { ...map, metadata: { name: "d" }, colour: "red" });
      expect(err).toContain('strict decoding error: unknown field "colour"');
    });
    test("patch", () => prints(`patch pod p -p {"metadata":{"labels":{"x":"y"}}}`, /^pod\/p patched\n$/));
    test("label", () => prints("label pod p z=1 x-", /^pod\/p labeled\n$/));
    test("label again needs --overwrite", async () => {
      expect((await kubectl("label pod p z=2")).err).toMatch(/'z' already has a value \(1\), and --overwrite is false/);
    });
    test("annotate", () => prints("annotate pod p why=because", /^pod\/p annotated\n$/));
    test("status", () =>
      prints(`patch pod p --subresource status --type merge -p {"status":{"phase":"Running"}}`, /^pod\/p patched\n$/));
  });

  describe("nodes", () => {
    test("taint", () => prints(`taint node ${NODE} k=v:NoSchedule`, new RegExp(`^node/${NODE} tainted\n$`)));
    test("untaint", () => prints(`taint node ${NODE} k-`, new RegExp(`^node/${NODE} untainted\n$`)));
    test("cordon", () => prints(`cordon ${NODE}`, new RegExp(`^node/${NODE} cordoned\n$`)));
    test("is seen", () => prints(`get node ${NODE}`, / Ready,SchedulingDisabled /));
    test("uncordon", () => prints(`uncordon ${NODE}`, new RegExp(`^node/${NODE} uncordoned\n$`)));
    test("a drain that a budget stops", async () => {
      const status = { status: { conditions: [{ type: "Ready", status: "True" }] } };
      await kubectl(`patch pod p --subresource status --type merge -p ${JSON.stringify(status)}`);
      const counts = {
        observedGeneration: 1,
        currentHealthy: 1,
        desiredHealthy: 1,
        expectedPods: 1,
        disruptionsAllowed: 0,
      };
      await kubectl(`patch pdb b --subresource status --type merge -p ${JSON.stringify({ status: counts })}`);
      const { code, err } = await kubectl(`drain ${NODE} --force --timeout 1s`);
      expect(code).toBe(1);
      expect(err).toMatch(
        /error when evicting pods\/"p" -n "[-\w]+" \(will retry after 5s\): Cannot evict pod as it would violate the pod's disruption budget\./,
      );
    });
    test("a drain that it does not", async () => {
      await kubectl("delete pdb b");
      const draining = kubectl(`drain ${NODE} --force --timeout 30s`);
      // The kubelet's part: the containers have ended.
      await vi.waitFor(() => prints("get pod p", / Terminating /), { timeout: 10_000 });
      await kubectl("delete pod p --force --grace-period 0");
      expect(await draining).toMatchObject({ code: 0, out: expect.stringContaining(`node/${NODE} drained`) });
    });
  });

  describe("access", () => {
    test("whoami", () => prints("auth whoami", /^ATTRIBUTE +VALUE\nUsername +\S+/));
    test("can-i, an administrator", () => prints("auth can-i delete nodes", /^yes\n$/));
    test("can-i, somebody", () => prints("auth can-i delete pods --as somebody", /^no\n$/));
    test("a refusal", async () => {
      expect((await kubectl("get pods --as somebody")).err).toMatch(
        /^Error from server \(Forbidden\): pods is forbidden: User "somebody" cannot list resource "pods"/,
      );
    });
    test("a token", async () => {
      await prints("create serviceaccount worker", /^serviceaccount\/worker created\n$/);
      await prints("create token worker", /^[-\w]+\.[-\w]+\.[-\w]+$/m);
    });
  });

  describe("watching", () => {
    test("get -w prints changes as they come", async () => {
      await kubectl("create configmap w --from-literal a=1");
      let seen = "";
      const watching = spawn("kubectl", ["-n", NAMESPACE, "get", "configmap", "w", "-w"], { env: environment() });
      watching.stdout.on("data", (chunk: Buffer) => (seen += chunk.toString()));
      await vi.waitFor(() => expect(seen).toMatch(/^NAME +DATA +AGE\nw +1 +\d+s\n/), { timeout: 10_000 });
      await kubectl(`patch configmap w -p {"data":{"b":"2"}}`);
      await vi.waitFor(() => expect(seen).toMatch(/\nw +2 +\d+s\n$/), { timeout: 10_000 });
      watching.kill();
    });
    test("wait", async () => {
      const waiting = kubectl("wait --for=jsonpath={.data.done}=yes configmap/w --timeout 20s");
      await kubectl(`patch configmap w -p {"data":{"done":"yes"}}`);
      expect(await waiting).toMatchObject({ code: 0, out: "configmap/w condition met\n" });
    });
    test("delete waits until it is gone", () => prints("delete configmap w", /^configmap "w" deleted/));
  });

  describe("events", () => {
    test("core and events.k8s.io are two views of the same", async () => {
      const event = {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name: "e" },
        involvedObject: { kind: "Pod", name: "p", namespace: NAMESPACE },
        reason: "Tested",
        message: "it works",
        type: "Normal",
        count: 3,
        firstTimestamp: "2026-01-01T00:00:00Z",
        lastTimestamp: new Date().toISOString(),
      };
      await prints("create -f -", /^event\/e created\n$/, event);
      await prints(
        "get events",
        /^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n\d+s +Normal +Tested +pod\/p +it works\n$/,
      );
      await prints("events", /Normal +Tested +Pod\/p +it works/);
      await prints("get events.events.k8s.io e -o jsonpath={.note}", /^it works$/);
    });
  });
});
