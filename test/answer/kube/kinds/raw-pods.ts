/** Pods as an API server sends them: the least that one has, plus a tweak. */

const METADATA = {
  namespace: "apps",
  name: "web",
  uid: "u-1",
  resourceVersion: "7",
  creationTimestamp: "2026-01-01T00:00:00Z",
};
const SPEC = { nodeName: "node01" };

export interface Tweak {
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}

export function raw({ metadata, spec, status }: Tweak): unknown {
  const pod = { metadata: { ...METADATA, ...metadata }, spec: { ...SPEC, ...spec } };
  // As it comes from an API server: what is undefined is not there.
  const json: unknown = JSON.parse(JSON.stringify(status === undefined ? pod : { ...pod, status }));
  return json;
}

export const EXISTS = { key: "a", operator: "Exists" };
export const IN = { key: "zone", operator: "In", values: ["a", "b"] };
export const required = (nodeSelectorTerms: unknown) => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});
export const apart = (...terms: readonly unknown[]) => ({
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
});
