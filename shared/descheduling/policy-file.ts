/** The descheduler's own policy file, as far as Lifeboat carries it out; everything else in it is an error. */
import * as z from "zod/mini";
import type { Client } from "../kube/client.ts";
import { present } from "../kube/schemas/fields.ts";
import type { ConfigMapFacts } from "../kube/schemas/kubernetes.ts";
import { collect, type ConfigProblem, type Parsed, parseConfig } from "../settings/problem.ts";
import { DESCHEDULER_CONFIG_MAP, DESCHEDULER_KEY, LIFEBOAT_NAMESPACE } from "../kube/names.ts";
import type { DeschedulerPolicy, DeschedulingLimits, EnabledPlugin, Profile } from "./cycle/policy.ts";
import { Count, Duration, flag, listOf, mapping, SelectorText, text } from "./plugins/fields.ts";
import { defaultEvictor, EvictorArguments } from "./plugins/default-evictor.ts";
import { lowNodeUtilization } from "./plugins/low-node-utilization.ts";
import { nodeAffinity } from "./plugins/node-affinity.ts";
import { nodeTaints } from "./plugins/node-taints.ts";
import type { Plugin } from "./plugins/plugin.ts";
import { podLifeTime } from "./plugins/pod-life-time.ts";

const Names = z.lazy(() => listOf(text("expected the name of a plugin")));
const PluginSet = z.lazy(() => z.prefault(mapping({ enabled: Names }), {}));

const POINTS = ["deschedule", "balance", "filter", "preevictionfilter"] as const;
type Point = (typeof POINTS)[number];

/** `disabled`, `presort` and `sort` are unknown keys: the descheduler never reads them. */
const Plugins = z.lazy(() =>
  mapping({ deschedule: PluginSet, balance: PluginSet, filter: PluginSet, preevictionfilter: PluginSet }),
);

const ProfileFile = z.lazy(() =>
  mapping({
    name: text("expected the name of the profile"),
    pluginConfig: listOf(mapping({ name: text("expected the name of a plugin"), args: z._default(z.unknown(), {}) })),
    plugins: z.prefault(Plugins, {}),
  }),
);

const PREFIX = "expected the beginning of a message";
const MORE_THAN_NOTHING = "expected more than 0";

const PolicyFile = z.lazy(() =>
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
    profiles: listOf(ProfileFile),
  }),
);

type PolicyFile = z.output<typeof PolicyFile>;
type ProfileFile = z.output<typeof ProfileFile>;

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

function policyOf(file: PolicyFile, profiles: readonly Profile[]): DeschedulerPolicy {
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

/** A plugin that waits for its arguments; `field` is where they are. */
interface RegisteredPlugin extends Pick<EnabledPlugin, "name" | "extensionPoint"> {
  configure(args: unknown, field: string): Parsed<EnabledPlugin>;
}

function registered<Arguments>(plugin: Plugin<Arguments>): RegisteredPlugin {
  const { name, extensionPoint } = plugin;
  return {
    name,
    extensionPoint,
    configure: (input, field) => {
      const args = parseConfig(plugin.arguments, input, field);
      if (!args.ok) return args;
      return { ok: true, value: { name, extensionPoint, nominate: (world) => plugin.nominate(args.value, world) } };
    },
  };
}

const PLUGINS: readonly RegisteredPlugin[] = [
  registered(lowNodeUtilization),
  registered(nodeTaints),
  registered(nodeAffinity),
  registered(podLifeTime),
];
const DEFAULT_EVICTOR = "DefaultEvictor";
const SUPPORTED = [...PLUGINS.map(({ name }) => name), DEFAULT_EVICTOR];

/** `field` is where it is. */
function profileOf(file: ProfileFile, field: string): Parsed<Profile> {
  const configured = configuredPlugins(file, `${field}.pluginConfig`);
  const evictor = evictorOf(file, `${field}.pluginConfig`);
  const problems = [
    ...repeatedNames(file.pluginConfig, `${field}.pluginConfig`),
    ...(configured.ok ? [] : configured.problems),
    ...(evictor.ok ? [] : evictor.problems),
    ...POINTS.flatMap((point) => problemsAt(point, file, `${field}.plugins.${point}.enabled`)),
  ];
  if (!configured.ok || !evictor.ok || problems.length > 0) return { ok: false, problems };
  const enabled = new Set(POINTS.flatMap((point) => file.plugins[point].enabled));
  const plugins = [...enabled].flatMap((name) => configured.value.filter((plugin) => plugin.name === name));
  return { ok: true, value: { name: file.name, evictor: defaultEvictor(evictor.value), plugins } };
}

/** Names that are there already, above. */
function repeatedNames(list: readonly { readonly name: string }[], field: string): readonly ConfigProblem[] {
  const names = list.map(({ name }) => name);
  return names.flatMap((name, i) =>
    names.indexOf(name) === i ? [] : [{ field: `${field}.${i}.name`, message: "expected each name once" }],
  );
}

function configuredPlugins({ pluginConfig }: ProfileFile, field: string): Parsed<readonly EnabledPlugin[]> {
  const parts = pluginConfig.flatMap(({ name, args }, i): readonly Parsed<EnabledPlugin>[] => {
    const message = problemOfName(name);
    if (message !== undefined) return [{ ok: false, problems: [{ field: `${field}.${i}.name`, message }] }];
    return PLUGINS.filter((plugin) => plugin.name === name).map((plugin) =>
      plugin.configure(args, `${field}.${i}.args`),
    );
  });
  return collect(parts);
}

/** In every profile, whether the file speaks of it or not. */
function evictorOf({ pluginConfig }: ProfileFile, field: string): Parsed<EvictorArguments> {
  const i = pluginConfig.findIndex(({ name }) => name === DEFAULT_EVICTOR);
  return parseConfig(EvictorArguments, pluginConfig[i]?.args ?? {}, `${field}.${i}.args`);
}

function problemsAt(point: Point, file: ProfileFile, field: string): readonly ConfigProblem[] {
  const names = file.plugins[point].enabled;
  return names.flatMap((name, i) => {
    const message = problemOfEnabled(name, point, file);
    return message === undefined ? [] : [{ field: `${field}.${i}`, message }];
  });
}

function problemOfEnabled(name: string, point: Point, { pluginConfig }: ProfileFile): string | undefined {
  const unknown = problemOfName(name);
  if (unknown !== undefined) return unknown;
  const plugin = PLUGINS.find((one) => one.name === name);
  const points: readonly string[] = plugin === undefined ? ["filter", "preevictionfilter"] : [plugin.extensionPoint];
  if (!points.includes(point)) return `${name} is expected under ${points.join(" or ")}`;
  if (plugin === undefined || pluginConfig.some((config) => config.name === name)) return undefined;
  return `expected ${name} in pluginConfig, too`;
}

function problemOfName(name: string): string | undefined {
  return SUPPORTED.includes(name) ? undefined : `not supported by Lifeboat: expected one of ${SUPPORTED.join(", ")}`;
}
