/** A profile of the policy file: the plugins that are enabled, with their arguments. */
import { collect, type ConfigProblem, type Parsed, parseConfig } from "../settings/problem.ts";
import type { EnabledPlugin, Profile } from "./cycle/policy.ts";
import { defaultEvictor, EvictorArguments } from "./plugins/default-evictor.ts";
import { lowNodeUtilization } from "./plugins/low-node-utilization.ts";
import { nodeAffinity } from "./plugins/node-affinity.ts";
import { nodeTaints } from "./plugins/node-taints.ts";
import type { Plugin } from "./plugins/plugin.ts";
import { podLifeTime } from "./plugins/pod-life-time.ts";

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

const POINTS = ["deschedule", "balance", "filter", "preevictionfilter"] as const;
type Point = (typeof POINTS)[number];

/** As it is written. */
export interface ProfileFile {
  readonly name: string;
  readonly pluginConfig: readonly { readonly name: string; readonly args: unknown }[];
  readonly plugins: Readonly<Record<Point, { readonly enabled: readonly string[] }>>;
}

/** `field` is where it is. */
export function profileOf(file: ProfileFile, field: string): Parsed<Profile> {
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
