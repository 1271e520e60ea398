/** Tests the API server with the real kubectl. The tests run only if kubectl is on PATH. */
import { execFile, spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { connect, type Server } from "./server.ts";

const isInstalled = spawnSync("kubectl", ["version", "--client"]).status === 0;
const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { a: "1" } };
const status = {
  conditions: [{ type: "Ready", status: "True" }],
  capacity: { cpu: "4" },
  allocatable: { cpu: "4" },
};
const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n" }, status };
const containers = [{ name: "one", image: "example/one" }];
const spec = { nodeName: "n", containers, tolerations: [{ operator: "Exists" }] };
const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", labels: { app: "a" } }, spec };

describe.runIf(isInstalled)("kubectl", () => {
  let server: Server;
  let folder = "";
  const environment = () => ({ ...process.env, KUBECONFIG: join(folder, "kubeconfig"), HOME: folder });

  const kubectl = (command: string, input?: unknown): Promise<string> =>
    new Promise((resolve) => {
      const child = execFile("kubectl", command.split(" "), { env: environment() }, (_, out, err) =>
        resolve(out + err),
      );
      child.stdin?.end(input === undefined ? "" : JSON.stringify(input));
    });

  beforeAll(async () => {
    server = await connect();
    folder = await mkdtemp(join(tmpdir(), "kubectl-"));
    await writeFile(join(folder, "kubeconfig"), server.kubeconfig);
    for (const object of [node, pod]) expect(await kubectl("create -f -", object)).toContain("created");
  });
  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  // prettier-ignore
  test.each<[string, RegExp, object?]>([
    ["get pods",                                     /^NAME +READY +STATUS +RESTARTS +AGE\np +0\/1 +Pending +0 +\d+s\n$/],
    ["get node n",                                   /^NAME +STATUS +ROLES +AGE +VERSION *\nn +Ready +<none> /],
    ["get pod p -o jsonpath={.spec.nodeName}",       /^n$/],
    ["get pod none",                                 /Error from server \(NotFound\): pods "none" not found/],
    ["describe node n",                              /Non-terminated Pods: +\(1 in total\)[^]* p /],
    ["api-resources",                                /^poddisruptionbudgets +pdb +policy\/v1 +true +PodDisruptionBudget$/m],
    ["explain pod.spec.nodeName",                    /FIELD: nodeName <string>/],
    ["version",                                      /^Server Version: v1\.\d+\.\d+/m],
    ["apply -f -",                                   /^configmap\/c created\n$/, map],
    ["apply -f -",                                   /^configmap\/c configured\n$/, { ...map, data: { b: "2" } }],
    ["apply --server-side --field-manager o -f -",   /Apply failed with 1 conflict: conflict with "kubectl-client-side-apply"/, { ...map, data: { b: "3" } }],
    ["create -f -",                                  /strict decoding error: unknown field "colour"/, { ...map, metadata: { name: "d" }, colour: "red" }],
    ["label pod p z=1",                              /^pod\/p labeled\n$/],
    ["taint node n k=v:NoSchedule",                  /^node\/n tainted\n$/],
    ["auth whoami",                                  /^ATTRIBUTE +VALUE\nUsername +\S+/],
    ["auth can-i delete pods --as somebody",         /^no\n/],
    ["create serviceaccount worker",                 /^serviceaccount\/worker created\n$/],
    ["create token worker",                          /^[-\w]+\.[-\w]+\.[-\w]+$/m],
  ])("%s", async (command, expected, input) => {
    expect(await kubectl(command, input)).toMatch(expected);
  });

  test("drain", async () => {
    const draining = kubectl("drain n --force --timeout 30s");
    // Removes the terminating pod, as a kubelet does after the containers have stopped.
    await vi.waitFor(async () => expect(await kubectl("get pod p")).toMatch(/ Terminating /), { timeout: 10_000 });
    await kubectl("delete pod p --force --grace-period 0");
    expect(await draining).toContain("node/n drained");
  });

  test("get -w prints changes as they come", async () => {
    let seen = "";
    const watching = spawn("kubectl", ["get", "configmap", "c", "-w"], { env: environment() });
    watching.stdout.on("data", (chunk: Buffer) => (seen += chunk.toString()));
    await vi.waitFor(() => expect(seen).toMatch(/\nc +1 +\d+s\n/), { timeout: 10_000 });
    await kubectl(`patch configmap c -p {"data":{"d":"2"}}`);
    await vi.waitFor(() => expect(seen).toMatch(/\nc +2 +\d+s\n$/), { timeout: 10_000 });
    watching.kill();
  });
});
