/** The descheduler's own policy file, as far as Lifeboat carries it out; everything else in it is an error. */
import * as z from "zod/mini";
import type { Client } from "../kube/client.ts";
import { present } from "../kube/schemas/fields.ts";
import type { ConfigMapFacts } from "../kube/schemas/kubernetes.ts";
import { collect, type ConfigProblem, type Parsed, parseConfig } from "../settings/problem.ts";
import { DESCHEDULER_CONFIG_MAP, DESCHEDULER_KEY, LIFEBOAT_NAMESPACE } from "../kube/names.ts";
import type { DeschedulerPolicy, DeschedulingLimits, Profile as ConfiguredProfile } from "./cycle/policy.ts";
import { Count, Duration, flag, listOf, mapping, SelectorText, text } from "./plugins/fields.ts";
import { profileOf } from "./profile.ts";

const Names = z.lazy(() => listOf(text("expected the name of a plugin")));
const PluginSet = z.lazy(() => z.prefault(mapping({ enabled: Names }), {}));

/** `disabled`, `presort` and `sort` are unknown keys: the descheduler never reads them. */
const Plugins = z.lazy(() =>
  mapping({ deschedule: PluginSet, balance: PluginSet, filter: PluginSet, preevictionfilter: PluginSet }),
);

const Profile = z.lazy(() =>
  mapping({
    name: text("expected the name of the profile"),
    pluginConfig: listOf(mapping({ name: text("expected the name of a plugin"), args: z._default(z.unknown(), {}) })),
    plugins: z.prefault(Plugins, {}),
  }),
);

const PREFIX = "expected the beginning of a message";
const MORE_THAN_NOTHING = "expected more than 0";

export const PolicyFile = z.lazy(() =>
  mapping({
    apiVersion: z.literal("descheduler/v1alpha2", "expected descheduler/v1alpha2"),
    kind: z.literal("DeschedulerPolicy", "expected DeschedulerPolicy"),
    nodeSelector: z.exactOptional(SelectorText),
    maxNoOfPodsToEvictPerNode: z.exactOptional(Count),
    maxNoOfPodsToEvictPerNamespace: z.exactOptional(Count),
    maxNoOfPodsToEvictTotal: z.exactOptional(Count),
    maxNoOfPodsEvacuationsPerNode: z.exactOptional(Count),
    maxNoOfPodsEvacuationsPerNamespace: z.exactOptional(Count),
    maxEvacuationRequestTTL: z._default(Duration, 600).check(z.positive(MORE_THAN_NOTHING)),
    evictionMessagePrefixes: z._default(
      z.array(text(PREFIX), "expected a list").check(z.minLength(1, "expected at least one")),
      ["Eviction triggered"],
    ),
    evictionFailureEventNotification: flag(false),
    gracePeriodSeconds: z.exactOptional(Count),
    profiles: listOf(Profile),
  }),
);

type PolicyFile = z.output<typeof PolicyFile>;

export type LoadedPolicy =
  | { readonly ok: true; readonly policy: DeschedulerPolicy }
  /** No pod may be evicted by a policy that is only partly understood. */
  | { readonly ok: false; readonly problems: readonly ConfigProblem[]; readonly configMap?: ConfigMapFacts };

/** Anew for every cycle. */
export async function loadPolicy(cluster: Client): Promise<LoadedPolicy> {
  const configMap = await cluster.get("configmaps", {
    namespace: LIFEBOAT_NAMESPACE,
    name: DESCHEDULER_CONFIG_MAP,
  });
  if (configMap === undefined) {
    const message = "expected this ConfigMap in namespace lifeboat-system";
    return { ok: false, problems: [{ field: `ConfigMap ${DESCHEDULER_CONFIG_MAP}`, message }] };
  }
  const text = configMap.data[DESCHEDULER_KEY];
  if (text === undefined) {
    const message = `expected this key in ConfigMap ${DESCHEDULER_CONFIG_MAP}`;
    return { ok: false, problems: [{ field: DESCHEDULER_KEY, message }], configMap };
  }
  const parsed = await parseDeschedulerPolicy(text);
  return parsed.ok ? { ok: true, policy: parsed.value } : { ok: false, problems: parsed.problems, configMap };
}

export async function parseDeschedulerPolicy(text: string): Promise<Parsed<DeschedulerPolicy>> {
  const yaml = await parseYaml(text, DESCHEDULER_KEY);
  if (!yaml.ok) return yaml;
  const file = parseConfig(PolicyFile, yaml.value, DESCHEDULER_KEY);
  if (!file.ok) return file;
  const field = `${DESCHEDULER_KEY}.profiles`;
  const profiles = collect(file.value.profiles.map((profile, i) => profileOf(profile, `${field}.${i}`)));
  return profiles.ok ? { ok: true, value: policyOf(file.value, profiles.value) } : profiles;
}

function policyOf(file: PolicyFile, profiles: readonly ConfiguredProfile[]): DeschedulerPolicy {
  const { nodeSelector, gracePeriodSeconds } = file;
  return {
    ...present({ nodeSelector, gracePeriodSeconds }),
    limits: limitsOf(file),
    requestTtlSeconds: file.maxEvacuationRequestTTL,
    messagePrefixes: file.evictionMessagePrefixes,
    notifyFailures: file.evictionFailureEventNotification,
    profiles,
  };
}

function limitsOf(file: PolicyFile): DeschedulingLimits {
  return present({
    evictionsTotal: file.maxNoOfPodsToEvictTotal,
    evictionsPerNode: file.maxNoOfPodsToEvictPerNode,
    evictionsPerNamespace: file.maxNoOfPodsToEvictPerNamespace,
    evacuationsPerNode: file.maxNoOfPodsEvacuationsPerNode,
    evacuationsPerNamespace: file.maxNoOfPodsEvacuationsPerNamespace,
  });
}

/** The library is loaded with the first text: most clusters have none, and evaluating it takes some milliseconds of a fresh isolate's start. */
async function parseYaml(text: string, field: string): Promise<Parsed<unknown>> {
  const { load, YAMLException } = await import("js-yaml");
  try {
    return { ok: true, value: load(text) };
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const line = error.mark === undefined ? "" : ` in line ${error.mark.line + 1}`;
    return { ok: false, problems: [{ field, message: `expected YAML, found an error${line}: ${error.reason}` }] };
  }
}
