/**
 * Generates clusters with VMs, other pods, nodes and a configuration. Some clusters contain one or two malformed
 * objects.
 */
import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { load } from "js-yaml";
import * as z from "zod/mini";
import * as names from "../../../shared/kube/names.ts";
import { asJson, isObject, type Json, type JsonObject } from "../json.ts";
import { bending, mutated, mutatedText } from "./json.ts";
import * as raw from "./objects.ts";
import * as vms from "./vms.ts";
import { configuration, edgeConfiguration, kubevirt } from "./settings.ts";

export type Collections = Readonly<Record<string, readonly JsonObject[]>>;

export const PATH = {
  pods: "/api/v1/pods",
  nodes: "/api/v1/nodes",
  configMaps: "/api/v1/configmaps",
  vmis: "/apis/kubevirt.io/v1/virtualmachineinstances",
  migrations: "/apis/kubevirt.io/v1/virtualmachineinstancemigrations",
  kubevirts: "/apis/kubevirt.io/v1/kubevirts",
  budgets: "/apis/policy/v1/poddisruptionbudgets",
  evacuations: "/apis/lifeboat.dev/v1alpha1/evacuations",
  configurations: "/apis/lifeboat.dev/v1alpha1/lifeboatconfigurations",
} as const;

export const VMS = ["web", "db", "mail"];

const POLICY_MAP = new URL(
  "../../../infra/kubernetes/optional/descheduler-policy/descheduler-policy.yaml",
  import.meta.url,
);
const PolicyMap = z.object({ data: z.object({ "policy.yaml": z.string() }) });
const SHIPPED = z.parse(PolicyMap, load(readFileSync(POLICY_MAP, "utf8"))).data["policy.yaml"];
export const DESCHEDULER_POLICY: Json = asJson(load(SHIPPED));

const policyText = fc.oneof(
  fc.constantFrom(SHIPPED, SHIPPED.replace(/hresholds: .*/g, "hresholds: {pods: 3}")),
  mutated(fc.constant(DESCHEDULER_POLICY), [1, 1, 3]).map((policy) => JSON.stringify(policy)),
  mutatedText(fc.constant(SHIPPED)),
);

function configMap(name: string, key: string, value: fc.Arbitrary<string>): fc.Arbitrary<readonly JsonObject[]> {
  const metadata = { namespace: names.LIFEBOAT_NAMESPACE, name };
  return fc
    .option(value, { nil: undefined, freq: 4 })
    .map((text) => (text === undefined ? [] : [raw.object("ConfigMap", metadata, { data: { [key]: text } })]));
}

const configMaps = fc.tuple(configMap(names.DESCHEDULER_CONFIG_MAP, names.DESCHEDULER_KEY, policyText));

function each<T>(of: readonly T[], make: (one: T, name: string) => readonly JsonObject[]): readonly JsonObject[] {
  return of.flatMap((one, i) => make(one, VMS[i] ?? `vm-${i}`));
}

export interface Drawn {
  readonly vms: readonly vms.Vm[];
  readonly collections: Collections;
}

export function clusterOf(vm: fc.Arbitrary<vms.Vm>, spec = configuration): fc.Arbitrary<Drawn> {
  return fc
    .record({
      vms: fc.array(vm, { minLength: 1, maxLength: VMS.length }),
      plain: fc.array(raw.plainPod, { maxLength: 3 }),
      nodes: fc.array(raw.node, { minLength: 3, maxLength: 3 }),
      kubevirt,
      configMaps,
      spec,
    })
    .map((c) => ({
      vms: c.vms,
      collections: {
        [PATH.pods]: [...each(c.vms, vms.podsOf), ...c.plain.map(raw.plainPodOf)],
        [PATH.nodes]: c.nodes.map((node, i) => raw.nodeOf(node, raw.NODES[i] ?? "")),
        [PATH.configMaps]: c.configMaps.flat(),
        [PATH.vmis]: each(c.vms, (vm, name) => (vm.isThere ? [vms.vmiOf(vm, name)] : [])),
        [PATH.migrations]: each(c.vms, vms.migrationsOf),
        [PATH.kubevirts]: [c.kubevirt],
        [PATH.budgets]: each(c.vms, vms.budgetsOf),
        [PATH.evacuations]: each(c.vms, vms.evacuationsOf),
        [PATH.configurations]: [raw.object("LifeboatConfiguration", { name: names.CONFIGURATION }, { spec: c.spec })],
      },
    }));
}

/** Generates valid clusters in two of three cases. Otherwise one or two objects are malformed. */
export function oddly(of: fc.Arbitrary<Drawn>): fc.Arbitrary<Drawn> {
  const oddity = fc.tuple(fc.constantFrom(...Object.values(PATH)), fc.noBias(fc.nat()), bending([1, 1, 2, 10]));
  const odd = fc.tuple(of, fc.array(oddity, { minLength: 1, maxLength: 2 })).map(([{ vms, collections }, oddities]) => {
    const bent: Record<string, readonly JsonObject[]> = { ...collections };
    for (const [path, at, bend] of oddities) {
      const items = bent[path] ?? [];
      bent[path] = items.map((item, i) => (i === at % items.length ? oddObject(bend(item)) : item));
    }
    return { vms, collections: bent };
  });
  return fc.oneof({ weight: 2, arbitrary: of }, { weight: 1, arbitrary: odd });
}

function oddObject(value: Json): JsonObject {
  return isObject(value) ? value : { odd: value };
}

export const cluster = oddly(clusterOf(vms.vm, fc.oneof(configuration, edgeConfiguration)));
