/** Compares virt-api with the recorded answers of a real virt-api (KubeVirt 1.9) in answers.json. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { grant } from "../../actors/rbac.ts";
import { ownerReferenceTo, pods, type Pod } from "../../actors/resources.ts";
import type { RawRequest } from "../../actors/transport.ts";
import { applyManifests } from "../../manifests.ts";
import { FINALIZER } from "../../kubevirt/resources.ts";
import { FOREIGN, NAMESPACE, startGuests, type Guests } from "./guests.ts";

interface Recorded {
  readonly question: string;
  readonly request: RawRequest & { readonly as: string };
  /** The expected values, keyed by path. `null` stands for a missing value. `causes` is short for `details.causes`. */
  readonly answer: Readonly<Record<string, unknown>>;
}

const RECORDED = JSON.parse(readFileSync(new URL("answers.json", import.meta.url), "utf8")) as readonly Recorded[];
const MIGRATION = "m-pq9bk";

let guests: Guests;
let migration = "";

beforeAll(async () => {
  guests = await startGuests();
  const rules = [
    { apiGroups: ["kubevirt.io"], resources: ["*"], verbs: ["*"] },
    { apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"] },
  ];
  const people = ["admin", "alice"].map((name) => grant(`test:${name}`, { kind: "User", name }, rules));
  await applyManifests(guests.sandbox.client, people.flat());
  const owner = await createPod("virt-launcher-ok-aaaaa", { vmi: "ok" });
  await createPod("virt-launcher-pinned-aaaaa", { vmi: "pinned" });
  await createPod("virt-launcher-away-aaaaa", { vmi: "away", node: "node02" });
  await createPod("hp-volume-aaaaa", { app: "hotplug-disk", owner });
});
afterAll(() => guests.stop());

interface Options {
  readonly app?: string;
  readonly vmi?: string;
  readonly node?: string;
  readonly owner?: Pod;
}

function createPod(name: string, { app = "virt-launcher", vmi = "", node = "node01", owner }: Options): Promise<Pod> {
  const labels = { "kubevirt.io": app };
  const annotations = { "kubevirt.io/domain": vmi };
  const ownerReferences = owner && { ownerReferences: [ownerReferenceTo(owner, pods)] };
  return guests.sandbox.client.create(pods, {
    metadata: { namespace: NAMESPACE, name, labels, annotations, ...ownerReferences },
    spec: { nodeName: node, containers: [{ name: "compute", image: "i" }] },
  });
}

function at(body: unknown, path: string): unknown {
  const steps = (path === "causes" ? "details.causes" : path).split(".");
  return steps.reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], body) ?? null;
}

test.each(RECORDED)("$question", async ({ request: { as, path, ...request }, answer }) => {
  const [resource = "", query = ""] = path.replace(MIGRATION, migration).split("?");
  const asked = { ...request, path: resource, query: Object.fromEntries(new URLSearchParams(query)) };
  const { code, body } = await guests.sandbox.client.as(as).raw(asked);
  const found = Object.keys(answer).map((path) => [path, path === "code" ? code : at(body, path)]);
  const text = JSON.stringify(Object.fromEntries(found)).replace(/\((?:[0-9a-f]+-){4}[0-9a-f]+\)/, "(<uid>)");
  expect(JSON.parse(text)).toEqual(answer);
  if (request.method === "POST" && code === 201) migration ||= String(at(body, "metadata.name"));
});

test("a new VMI is Pending and has KubeVirt's finalizer, even if its creator sets another phase", async () => {
  const body = {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachineInstance",
    metadata: { name: "born" },
    spec: { domain: { devices: {} } },
    status: { phase: "Running" },
  };
  const path = `/apis/kubevirt.io/v1/namespaces/${NAMESPACE}/virtualmachineinstances`;
  const answer = await guests.ask(FOREIGN, { method: "POST", path, body });
  expect(answer).toMatchObject({ code: 201, metadata: { finalizers: [FINALIZER.vmi] }, status: { phase: "Pending" } });
});

test("an unfinished migration keeps its labels", async () => {
  const path = `/apis/kubevirt.io/v1/namespaces/${NAMESPACE}/virtualmachineinstancemigrations/${migration}`;
  const contentType = "application/merge-patch+json";
  const body = { metadata: { labels: null } };
  const answer = await guests.ask(FOREIGN, { method: "PATCH", path, contentType, body });
  const message = expect.stringContaining("selector label can't be removed from an in-flight migration") as string;
  expect(answer).toMatchObject({ code: 422, message });
});

test("virt-api refuses a second migration of a VMI before the API server checks whether the migration's name exists", async () => {
  const metadata = { name: migration };
  const body = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstanceMigration", metadata };
  const path = `/apis/kubevirt.io/v1/namespaces/${NAMESPACE}/virtualmachineinstancemigrations`;
  const request = { method: "POST", path, body: { ...body, spec: { vmiName: "busy" } } } as const;
  const { code, body: answer } = await guests.sandbox.client.as("admin").raw(request);
  expect({ code, message: at(answer, "message") }).toMatchObject({
    code: 400,
    message: expect.stringContaining("in-flight migration detected") as string,
  });
});
