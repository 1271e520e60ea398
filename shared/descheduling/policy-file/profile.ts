/** A profile: the plugins that are enabled, with their arguments. */
import type { DefaultEvictorArguments } from "../plugins/arguments.ts";
import { defaultEvictor } from "../plugins/default-evictor.ts";
import type { EnabledPlugin, Profile } from "../cycle/policy.ts";
import { collect, type ConfigProblem, type Parsed, parseConfig } from "../../config/problem.ts";
import { EvictorArguments } from "./evictor-arguments.ts";
import { DEFAULT_EVICTOR, PLUGINS, problemOfName } from "./plugin-registry.ts";
import type { ProfileFile } from "./policy-file.ts";

export interface ConfiguredProfile {
  readonly profile: Profile;
  readonly evictor: DefaultEvictorArguments;
}

/** `field` is where it is. */
export function profileOf(file: ProfileFile, field: string): Parsed<ConfiguredProfile> {
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
  const profile = { name: file.name, evictor: defaultEvictor(evictor.value), plugins };
  return { ok: true, value: { profile, evictor: evictor.value } };
}

/** Names that are there already, above. */
export function repeatedNames(list: readonly { readonly name: string }[], field: string): readonly ConfigProblem[] {
  const firsts = new Map(list.map(({ name }, i) => [name, i] as const).toReversed());
  return list.flatMap(({ name }, i) =>
    firsts.get(name) === i ? [] : [{ field: `${field}.${i}.name`, message: "expected each name once" }],
  );
}

function configuredPlugins({ pluginConfig }: ProfileFile, field: string): Parsed<readonly EnabledPlugin[]> {
  const parts = pluginConfig.flatMap(({ name, args }, i): readonly Parsed<EnabledPlugin>[] => {
    const message = problemOfName(name);
    if (message !== undefined) return [{ ok: false, problems: [{ field: `${field}.${i}.name`, message }] }];
    const plugin = PLUGINS.get(name);
    return plugin === undefined ? [] : [plugin.configure(args, `${field}.${i}.args`)];
  });
  return collect(parts);
}

/** In every profile, whether the file speaks of it or not. */
function evictorOf({ pluginConfig }: ProfileFile, field: string): Parsed<DefaultEvictorArguments> {
  const i = pluginConfig.findIndex(({ name }) => name === DEFAULT_EVICTOR);
  return parseConfig(EvictorArguments, pluginConfig[i]?.args ?? {}, `${field}.${i}.args`);
}

const POINTS = ["deschedule", "balance", "filter", "preevictionfilter"] as const;

type Point = (typeof POINTS)[number];

function problemsAt(point: Point, file: ProfileFile, field: string): readonly ConfigProblem[] {
  const names = file.plugins[point].enabled;
  return names.flatMap((name, i) => {
    const message =
      problemOfEnabled(name, point, file) ?? (names.indexOf(name) < i ? "expected each plugin once" : undefined);
    return message === undefined ? [] : [{ field: `${field}.${i}`, message }];
  });
}

function problemOfEnabled(name: string, point: Point, { pluginConfig }: ProfileFile): string | undefined {
  const unknown = problemOfName(name);
  if (unknown !== undefined) return unknown;
  const plugin = PLUGINS.get(name);
  const points: readonly string[] = plugin === undefined ? ["filter", "preevictionfilter"] : [plugin.extensionPoint];
  if (!points.includes(point)) return `${name} is expected under ${points.join(" or ")}`;
  if (plugin === undefined || pluginConfig.some((config) => config.name === name)) return undefined;
  return `expected ${name} in pluginConfig, too`;
}
