/** Custom resources: a kind with a schema, one with a rule, KubeVirt's VMIs and migrations. */
import { del, get, patch, post } from "../../requests.ts";
import { type Scenes, until } from "../world.ts";
import { served } from "./kubevirt.ts";

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const THINGS = "/apis/fid.io/v1/namespaces/fid-b/things";
const VMIS = "/apis/kubevirt.io/v1/namespaces/fid-b/virtualmachineinstances";
const MIGRATIONS = "/apis/kubevirt.io/v1/namespaces/fid-b/virtualmachineinstancemigrations";

export function vmi(name: string, metadata: object = {}) {
  const domain = { devices: {}, resources: { requests: { memory: "64Mi" } } };
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachineInstance",
    metadata: { name, ...metadata },
    spec: { domain },
  };
}

function thing(name: string, spec: object) {
  return { apiVersion: "fid.io/v1", kind: "Thing", metadata: { name }, spec };
}

const INTEGERS = { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } } };
const RULED = {
  ...INTEGERS,
  "x-kubernetes-validations": [{ rule: "self.a <= self.b", message: "a must not exceed b" }],
};

const RULES = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "rules.fid.io" },
  spec: {
    group: "fid.io",
    scope: "Namespaced",
    names: { plural: "rules", kind: "Rule" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec: RULED } } },
      },
    ],
  },
};

export const CUSTOM: Scenes = {
  "cr: defaults": { before: [served(THINGS)] },
  "cr: test and add below a missing map": { before: [post(THINGS, thing("t2", { size: 1 }))] },
  "cr: apply conflicts": {
    before: [patch(`${THINGS}/ssa?fieldManager=one`, "apply", thing("ssa", { size: 1, name: "abc" }))],
  },
  "cr: Table with its columns": { before: [patch(`${THINGS}/t1`, "merge", { metadata: { labels: { a: "b" } } })] },
  "cr: the rest stays": { before: [del(`${THINGS}/t1`), post(THINGS, thing("t9", { size: 9 }))] },
  "cr: a CEL rule": { before: [post(CRDS, RULES), served("/apis/fid.io/v1/rules")] },
  "crd: deleted, gone": {
    before: [
      served("/apis/fid.io/v1/picks"),
      del(`${CRDS}/picks.fid.io`),
      until(get("/apis/fid.io/v1/picks"), ({ code }) => code === 404),
    ],
  },

  "vmi: evacuationNodeName of a wrong type": {
    before: [
      post(VMIS, vmi("v1", { labels: { app: "v" } })),
      patch(`${VMIS}/v1`, "merge", { status: { phase: "Running" } }),
    ],
  },
  "vmi: unmark": { before: [patch(`${VMIS}/v1`, "merge", { status: { evacuationNodeName: "n1" } })] },
  "vmim: deleted twice": {
    before: [
      patch(`${MIGRATIONS}/m1`, "merge", { metadata: { finalizers: ["kubevirt.io/migrationJobFinalize"] } }),
      del(`${MIGRATIONS}/m1`),
    ],
  },
};
