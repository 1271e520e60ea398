/**
 * Reads the descheduler's policy file. Leaves out and reports unknown or wrong plugins. Other mistakes are errors,
 * because a cycle that ignores a wrong limit or filter could evict too many pods.
 */
import * as z from "zod/mini";
import type { Client } from "../kube/client.ts";
import { present } from "../kube/schemas/fields.ts";
import type { ConfigMapFacts } from "../kube/schemas/kubernetes.ts";
import { type ConfigProblem, type Parsed, parseConfig, problemsIn } from "../settings/problem.ts";
import { DESCHEDULER_CONFIG_MAP, DESCHEDULER_KEY, LIFEBOAT_NAMESPACE } from "../kube/names.ts";
import type { DeschedulerPolicy, EnabledPlugin, Profile } from "./cycle/policy.ts";
import { CountArgument, Duration, flag, listArgument, mapping, SelectorText, text } from "./plugins/fields.ts";
import { antiAffinity } from "./plugins/anti-affinity.ts";
import { defaultEvictor, EvictorArguments } from "./plugins/default-evictor.ts";
import { lowNodeUtilization } from "./plugins/low-node-utilization.ts";
import { nodeAffinity } from "./plugins/node-affinity.ts";
import { nodeTaints } from "./plugins/node-taints.ts";
import type { Plugin } from "./plugins/plugin.ts";
import { podLifeTime } from "./plugins/pod-life-time.ts";
import { topologySpread } from "./plugins/topology-spread.ts";
import { DESCHEDULING_MESSAGES as MESSAGES } from "./messages.ts";

/**
 * The extension points of a policy. Lifeboat rejects the keys `disabled`, `presort` and `sort`, because the upstream
 * descheduler ignores them.
 */
const POINTS = ["deschedule", "balance", "filter", "preevictionfilter"] as const;
type Point = (typeof POINTS)[number];
/** The extension points at which plugins nominate pods. At the other extension points, plugins protect pods. */
const NOMINATING = ["deschedule", "balance"] as const;
const FILTERS = ["filter", "preevictionfilter"] as const;

const PLUGINS = [lowNodeUtilization, topologySpread, nodeTaints, nodeAffinity, antiAffinity, podLifeTime];
const DEFAULT_EVICTOR = "DefaultEvictor";
const POINTS_OF = new Map<string, readonly Point[]>([
  ...PLUGINS.map(({ name, extensionPoint }) => [name, [extensionPoint]] as const),
  [DEFAULT_EVICTOR, ["filter", "preevictionfilter"]],
]);
const NOT_SUPPORTED = MESSAGES.notSupported([...POINTS_OF.keys()]);

function configured<Arguments>(plugin: Plugin<Arguments>) {
  const { name, extensionPoint } = plugin;
  return z.pipe(
    z.strictObject({ name: z.literal(name), args: orNone(plugin.arguments) }),
    z.transform(({ args }): EnabledPlugin => {
      return { name, extensionPoint, nominate: (world) => plugin.nominate(args, world) };
    }),
  );
}

function orNone<Arguments>(schema: z.ZodMiniType<Arguments>): z.ZodMiniType<Arguments> {
  const given = z.transform((args: unknown): unknown => args ?? {});
  return z.pipe(given, schema);
}

const PluginConfig = z.lazy(() =>
  z.discriminatedUnion(
    "name",
    [
      configured(lowNodeUtilization),
      configured(topologySpread),
      configured(nodeTaints),
      configured(nodeAffinity),
      configured(antiAffinity),
      configured(podLifeTime),
      z.strictObject({ name: z.literal(DEFAULT_EVICTOR), args: orNone(EvictorArguments) }),
    ],
    NOT_SUPPORTED,
  ),
);

interface LeftOut {
  readonly name: unknown;
  readonly problems: (root: string) => readonly ConfigProblem[];
}

/** The configuration of a plugin. If Lifeboat ignores the plugin, contains the reasons instead. */
const PluginOrNot = z.lazy(() =>
  z.transform((input: unknown, { issues }) => {
    const parsed = PluginConfig.safeParse(input);
    if (parsed.success) return parsed.data;
    const { name } = Named.safeParse(input).data ?? {};
    const left: LeftOut = { name, problems: (root) => problemsIn(parsed.error, root) };
    if (name !== DEFAULT_EVICTOR) return left;
    for (const { field, message } of problemsIn(parsed.error, "")) {
      issues.push({ code: "custom", input, path: field.split(".").filter(Boolean), message });
    }
    return z.NEVER;
  }),
);
const Named = z.object({ name: z.string() });

const Names = z.lazy(() => listArgument(text(MESSAGES.pluginName)));
const PluginSet = z.lazy(() => z.prefault(mapping({ enabled: Names }), {}));
const PluginSets = z.lazy(() =>
  mapping({ deschedule: PluginSet, balance: PluginSet, filter: PluginSet, preevictionfilter: PluginSet }),
);

const ProfileFile = z.lazy(() =>
  z.pipe(
    mapping({
      name: text(MESSAGES.profileName),
      pluginConfig: listArgument(PluginOrNot),
      plugins: z.prefault(PluginSets, {}),
    }).check(({ value: { pluginConfig, plugins }, issues }) => {
      const names = pluginConfig.map((one) => one.name);
      const problem = (input: unknown, path: readonly PropertyKey[], message: string | undefined) => {
        if (message !== undefined) issues.push({ code: "custom", input, path: [...path], message });
      };
      for (const [i, name] of names.entries()) {
        const isFirst = names.indexOf(name) === i;
        problem(name, ["pluginConfig", i, "name"], isFirst ? undefined : MESSAGES.eachOnce);
      }
      for (const point of FILTERS) {
        for (const [i, name] of plugins[point].enabled.entries())
          problem(name, ["plugins", point, "enabled", i], problemOf(name, point, names));
      }
    }),
    z.transform(({ name, pluginConfig, plugins }): ReadProfile => {
      const evictor = pluginConfig.flatMap((one) => ("args" in one ? one.args : []))[0] ?? EvictorArguments.parse({});
      const names = pluginConfig.map((one) => one.name);
      const isWrong = (one: string, point: Point) => problemOf(one, point, names) !== undefined;
      const enabled = new Set(
        NOMINATING.flatMap((point) => plugins[point].enabled.filter((one) => !isWrong(one, point))),
      );
      const isNamed = (wanted: string) => (one: (typeof pluginConfig)[number]) =>
        "nominate" in one && one.name === wanted ? [one] : [];
      const problems = (root: string) => [
        ...pluginConfig.flatMap((one, i) => ("problems" in one ? one.problems(`${root}.pluginConfig.${i}`) : [])),
        ...NOMINATING.flatMap((point) =>
          plugins[point].enabled.flatMap((wanted, i) => {
            const message = problemOf(wanted, point, names);
            return message === undefined ? [] : { field: `${root}.plugins.${point}.enabled.${i}`, message };
          }),
        ),
      ];
      const profile = {
        name,
        evictor: defaultEvictor(evictor),
        plugins: [...enabled].flatMap((wanted) => pluginConfig.flatMap(isNamed(wanted))),
      };
      return { profile, problems };
    }),
  ),
);

interface ReadProfile {
  readonly profile: Profile;
  readonly problems: (root: string) => readonly ConfigProblem[];
}

function problemOf(name: string, point: Point, names: readonly unknown[]): string | undefined {
  const points = POINTS_OF.get(name);
  if (points === undefined) return NOT_SUPPORTED;
  if (!points.includes(point)) return MESSAGES.otherPoint(name, points);
  return name === DEFAULT_EVICTOR || names.includes(name) ? undefined : MESSAGES.notConfigured(name);
}

/** KubeVirt's and Lifeboat's answers to evictions of VM pods start with this text. */
const PREFIXES = ["Eviction triggered"];

const PolicyFile = z.lazy(() =>
  z.pipe(
    mapping({
      apiVersion: z.literal("descheduler/v1alpha2", "expected descheduler/v1alpha2"),
      kind: z.literal("DeschedulerPolicy", "expected DeschedulerPolicy"),
      nodeSelector: z.exactOptional(SelectorText),
      maxNoOfPodsToEvictPerNode: z.exactOptional(CountArgument),
      maxNoOfPodsToEvictPerNamespace: z.exactOptional(CountArgument),
      maxNoOfPodsToEvictTotal: z.exactOptional(CountArgument),
      maxNoOfPodsEvacuationsPerNode: z.exactOptional(CountArgument),
      maxNoOfPodsEvacuationsPerNamespace: z.exactOptional(CountArgument),
      maxEvacuationRequestTTL: z._default(Duration, 600).check(z.positive(MESSAGES.positive)),
      evictionMessagePrefixes: listArgument(text(MESSAGES.messageStart)),
      evictionFailureEventNotification: flag(false),
      gracePeriodSeconds: z.exactOptional(CountArgument),
      profiles: listArgument(ProfileFile),
    }),
    z.transform(({ nodeSelector, gracePeriodSeconds, profiles, ...file }): ReadPolicy => {
      const policy = {
        ...present({ nodeSelector, gracePeriodSeconds }),
        limits: present({
          evictionsTotal: file.maxNoOfPodsToEvictTotal,
          evictionsPerNode: file.maxNoOfPodsToEvictPerNode,
          evictionsPerNamespace: file.maxNoOfPodsToEvictPerNamespace,
          evacuationsPerNode: file.maxNoOfPodsEvacuationsPerNode,
          evacuationsPerNamespace: file.maxNoOfPodsEvacuationsPerNamespace,
        }),
        requestTtlSeconds: file.maxEvacuationRequestTTL,
        messagePrefixes: file.evictionMessagePrefixes.length === 0 ? PREFIXES : file.evictionMessagePrefixes,
        notifyFailures: file.evictionFailureEventNotification,
        profiles: profiles.map(({ profile }) => profile),
      };
      const problems = profiles.flatMap((one, i) => one.problems(`${DESCHEDULER_KEY}.profiles.${i}`));
      return { policy, problems };
    }),
  ),
);

export interface ReadPolicy {
  readonly policy: DeschedulerPolicy;
  /** The problems of the policy. Each problem is the reason why Lifeboat ignores a plugin. */
  readonly problems: readonly ConfigProblem[];
}

interface Loaded {
  readonly problems: readonly ConfigProblem[];
  readonly configMap?: ConfigMapFacts;
}

export type LoadedPolicy =
  | (Loaded & { readonly ok: true; readonly policy: DeschedulerPolicy })
  /** If the policy is invalid, Lifeboat evicts no pod. */
  | (Loaded & { readonly ok: false });

export async function loadPolicy(cluster: Client): Promise<LoadedPolicy> {
  const key = { namespace: LIFEBOAT_NAMESPACE, name: DESCHEDULER_CONFIG_MAP };
  const configMap = await cluster.get("configmaps", key);
  if (configMap === undefined) {
    const field = `ConfigMap ${DESCHEDULER_CONFIG_MAP}`;
    return { ok: false, problems: [{ field, message: MESSAGES.noConfigMap }] };
  }
  const text = configMap.data[DESCHEDULER_KEY];
  if (text === undefined) {
    return { ok: false, problems: [{ field: DESCHEDULER_KEY, message: MESSAGES.noKey }], configMap };
  }
  const parsed = await parseDeschedulerPolicy(text);
  return parsed.ok ? { ok: true, ...parsed.value, configMap } : { ok: false, problems: parsed.problems, configMap };
}

/** Parses a policy. Imports the YAML library only when it is needed, because most clusters have no policy. */
export async function parseDeschedulerPolicy(text: string): Promise<Parsed<ReadPolicy>> {
  const { load, YAMLException } = await import("js-yaml");
  try {
    return parseConfig(PolicyFile, load(text), DESCHEDULER_KEY);
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const message = MESSAGES.notYaml(error.mark && error.mark.line + 1, error.reason);
    return { ok: false, problems: [{ field: DESCHEDULER_KEY, message }] };
  }
}
