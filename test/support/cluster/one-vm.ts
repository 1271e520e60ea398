/**
 * A fake cluster with one VM, and its objects as the API server returns them. A test can replace answers of the
 * cluster.
 */
import { type Behaviour, json, status } from "../answers.ts";
import { FakeCluster } from "../cluster.ts";
import { kindOf } from "./request-info.ts";
import { object } from "./objects.ts";

export const POD = { namespace: "apps", name: "virt-launcher-web-abcde" };

const metadata = (name: string) => ({ namespace: "apps", name, uid: `uid-of-${name}`, resourceVersion: "7" });

export const POD_OBJECT = {
  kind: "Pod",
  metadata: {
    ...metadata(POD.name),
    labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": "uid-of-web" },
    annotations: { "kubevirt.io/domain": "web" },
  },
  spec: { nodeName: "node01" },
  status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
};

export const VMI_OBJECT = {
  kind: "VirtualMachineInstance",
  metadata: { ...metadata("web"), labels: { app: "web" }, annotations: { note: "x" } },
  spec: { evictionStrategy: "LiveMigrate" },
  status: {
    phase: "Running",
    nodeName: "node01",
    activePods: { [POD_OBJECT.metadata.uid]: "node01" },
    conditions: [{ type: "LiveMigratable", status: "True" }],
  },
};

export const MARKED_VMI_OBJECT = { ...VMI_OBJECT, status: { ...VMI_OBJECT.status, evacuationNodeName: "node01" } };

export const list = (...items: readonly unknown[]): Behaviour =>
  json({ kind: "List", metadata: { resourceVersion: "7" }, items });

export const configured = (spec: unknown): Behaviour =>
  json({ kind: "LifeboatConfiguration", metadata: { ...metadata("lifeboat"), generation: 1 }, spec });

export const notFound = status(404, "NotFound");

/** Answers by kind of request, for example `get pods`, `list pods` or `create pods/eviction`. */
export type Answers = Readonly<Record<string, Behaviour>>;

/** Returns a fake cluster with one VM. `answers` replaces the answers to some or all requests. */
export function clusterWith(answers: Answers | Behaviour = {}): FakeCluster {
  const fake = new FakeCluster();
  fake.api.put("pods", object(POD_OBJECT));
  fake.api.put("virtualmachineinstances", object(VMI_OBJECT));
  fake.api.instead = (request) => (typeof answers === "function" ? answers : answers[kindOf(request)]);
  return fake;
}
