/** Parts of the scenes: the recording's two namespaces and its objects. */
import type { Request } from "../../client.ts";
import { patch, post } from "../../requests.ts";
import { type Step, type World, until } from "../world.ts";

export const FID = "/api/v1/namespaces/fid";
export const B = "/api/v1/namespaces/fid-b";
export const NODE = "fid-node";

export function namespace(name: string): Request {
  return post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
}

/** Where a controller creates a namespace's default account, pods are refused until it exists. */
export function accounts(namespace: string): Step {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
  return async (world) => {
    if (world.target.controllers && world.target.name !== "sandbox")
      await world.take(until({ method: "GET", path }, ({ code }) => code === 200));
  };
}

export function node(name: string, spec: object = {}): Request {
  return post("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name }, spec });
}

export function configMap(name: string, metadata: object = {}, more: object = { data: { a: "1" } }) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, ...more };
}

/** Bound, unless its spec says otherwise. */
export function pod(name: string, labels: object = {}, spec: object = {}, metadata: object = {}) {
  const containers = [
    { name: "c", image: "x" },
    { name: "d", image: "y" },
  ];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels, ...metadata },
    spec: { nodeName: NODE, containers, ...spec },
  };
}

/** For a pod that no scheduler may bind. */
export const UNBOUND = { nodeName: undefined, nodeSelector: { "fid.io/nowhere": "" } };

export function status(path: string, value: object): Request {
  return patch(`${path}/status`, "merge", { status: value });
}

export const READY = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
export const UNREADY = { phase: "Running", conditions: [{ type: "Ready", status: "False" }] };

/** Bound, running and ready. */
export function runningPod(space: string, ...form: Parameters<typeof pod>): readonly Step[] {
  return [post(`${space}/pods`, pod(...form)), status(`${space}/pods/${form[0]}`, READY)];
}

/** Current, desired, allowed and expected, as the disruption controller counts them. */
export type Counts = readonly [healthy: number, desired: number, allowed: number, expected: number];

/**
 * Replaces an earlier budget of this name, and waits until its status has these counts; without a controller it writes
 * them.
 */
export function budget(space: string, name: string, spec: object, counts: Counts): readonly Step[] {
  const plural = `/apis/policy/v1/namespaces/${space}/poddisruptionbudgets`;
  const body = { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name }, spec };
  return [
    ({ target }) => target.send({ method: "DELETE", path: `${plural}/${name}` }),
    post(plural, body),
    counted(`${plural}/${name}`, counts),
  ];
}

export function counted(
  path: string,
  [currentHealthy, desiredHealthy, disruptionsAllowed, expectedPods]: Counts,
): Step {
  const counts = { currentHealthy, desiredHealthy, disruptionsAllowed, expectedPods };
  return async (world: World) => {
    if (world.target.controllers) return await world.take(until({ method: "GET", path }, isObserved));
    const { body } = await world.target.send({ method: "GET", path });
    const observedGeneration = Reflect.get(Object(body.metadata), "generation");
    await world.take(status(path, { ...counts, observedGeneration }));
  };

  function isObserved({ body }: { readonly body: Readonly<Record<string, unknown>> }): boolean {
    const status: Record<string, unknown> = Object(body.status);
    return (
      Array.isArray(status.conditions) &&
      Object.entries(counts).every(([field, count]) => status[field] === count) &&
      [undefined, Reflect.get(Object(body.metadata), "generation")].includes(status.observedGeneration)
    );
  }
}

/** The selector's part of a budget's spec. */
export function over(labels: object): { readonly selector: { readonly matchLabels: object } } {
  return { selector: { matchLabels: labels } };
}

export function eviction(space: string, name: string, more: object = {}): Request {
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name }, ...more };
  return post(`${space}/pods/${name}/eviction`, body);
}
