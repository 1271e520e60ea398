/** The descheduler's own policy file, as far as Lifeboat carries it out; everything else in it is an error. */
import { present } from "../../cluster/kinds/fields.ts";
import type { DefaultEvictorArguments } from "../plugins/arguments.ts";
import type { DeschedulerPolicy, DeschedulingLimits, PolicyNeeds } from "../cycle/policy.ts";
import { DESCHEDULER_KEY } from "../../policy/names.ts";
import { collect, type Parsed, parseConfig } from "../../config/problem.ts";
import { PolicyFile } from "./policy-file.ts";
import { type ConfiguredProfile, profileOf, repeatedNames } from "./profile.ts";

export async function parseDeschedulerPolicy(text: string): Promise<Parsed<DeschedulerPolicy>> {
  const { parseYaml } = await import("./yaml.ts");
  const yaml = parseYaml(text, DESCHEDULER_KEY);
  if (!yaml.ok) return yaml;
  const file = parseConfig(PolicyFile, yaml.value, DESCHEDULER_KEY);
  if (!file.ok) return file;
  const field = `${DESCHEDULER_KEY}.profiles`;
  const profiles = collect(file.value.profiles.map((profile, i) => profileOf(profile, `${field}.${i}`)));
  const problems = [...repeatedNames(file.value.profiles, field), ...(profiles.ok ? [] : profiles.problems)];
  if (!profiles.ok || problems.length > 0) return { ok: false, problems };
  return { ok: true, value: policyOf(file.value, profiles.value) };
}

function policyOf(file: PolicyFile, profiles: readonly ConfiguredProfile[]): DeschedulerPolicy {
  const { nodeSelector, gracePeriodSeconds } = file;
  return {
    ...present({ nodeSelector, gracePeriodSeconds }),
    limits: limitsOf(file),
    requestTtlSeconds: file.maxEvacuationRequestTTL,
    messagePrefixes: file.evictionMessagePrefixes,
    notifyFailures: file.evictionFailureEventNotification,
    profiles: profiles.map(({ profile }) => profile),
    needs: needsOf(profiles.map(({ evictor }) => evictor)),
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

function needsOf(evictors: readonly DefaultEvictorArguments[]): PolicyNeeds {
  return {
    namespaces: evictors.some(({ namespaceLabelSelector }) => namespaceLabelSelector !== undefined),
    budgets: evictors.some(({ protections }) => protections.includes("PodsWithoutPDB")),
    claims: evictors.some(({ protectedStorageClasses }) => protectedStorageClasses.length > 0),
    priorityClasses: [...new Set(evictors.flatMap(priorityClassOf))],
  };
}

/** With SystemCriticalPods disabled, the threshold does not count either. */
function priorityClassOf({ protections, priorityThreshold }: DefaultEvictorArguments): readonly string[] {
  if (priorityThreshold === undefined || !("name" in priorityThreshold)) return [];
  return protections.includes("SystemCriticalPods") ? [priorityThreshold.name] : [];
}
