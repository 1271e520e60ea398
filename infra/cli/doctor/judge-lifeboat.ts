/** Lifeboat: its kinds, its configuration and what its conditions say, what its account may do. */
import { parseConfiguration } from "../../../shared/config/lifeboat-configuration.ts";
import { notesOn } from "../../../shared/config/settings.ts";
import type { ConfigurationFacts } from "../../../shared/cluster/kinds/lifeboat.ts";
import { failed, type Finding, judged, ok, valueOf, warning } from "./check.ts";
import { judgeCondition } from "./judge-conditions.ts";
import { API, type Facts } from "./facts.ts";
import { judgeGranted } from "./judge-granted.ts";
import { judgeTrial } from "./judge-eviction.ts";
import { judgeGuard, judgeWebhooks } from "./judge-webhooks.ts";
import { filesNeeded } from "./permissions.ts";
import { settingsOf } from "./settings.ts";

const KINDS = ["evacuations", "lifeboatconfigurations"];
const README = "infra/kubernetes/README.md";

/** Not where that is unknown. */
export function isAbsent({ served, webhooks: { evictions } }: Facts): boolean {
  const isServed = valueOf(served)?.has(API.lifeboat) !== false;
  return !isServed && "value" in evictions && evictions.value === undefined;
}

export function judgeLifeboat(facts: Facts): readonly Finding[] {
  if (isAbsent(facts)) {
    const where = `there are neither its kinds nor its webhook: context "${facts.context}", ${facts.server}`;
    return [
      failed(
        "Lifeboat is not installed in this cluster",
        where,
        `lifeboat install --worker URL; or ${README}, "Install"`,
      ),
    ];
  }
  const settings = settingsOf(facts);
  return [
    ...judgeKinds(facts),
    ...judged("the LifeboatConfiguration", facts.configuration, (found) => judgeConfiguration(found, facts)),
    ...filesNeeded(settings).flatMap((file) => judgeGranted(file, facts)),
    ...judgeWebhooks(facts, settings),
    ...judgeGuard(facts, settings),
    ...judgeTrial(facts),
  ];
}

function judgeKinds({ served }: Facts): readonly Finding[] {
  return judged("what the API server serves", served, (groups) => {
    const missing = KINDS.filter((kind) => groups.get(API.lifeboat)?.includes(kind) !== true);
    if (missing.length === 0) return ok(`${API.lifeboat} is served`);
    const reason = "Lifeboat refuses every eviction of a VM while it cannot read them";
    return failed(
      `${API.lifeboat}: ${missing.join(", ")} not served`,
      reason,
      "kubectl apply -f infra/kubernetes/crds",
    );
  });
}

function judgeConfiguration(found: ConfigurationFacts | undefined, facts: Facts): readonly Finding[] {
  if (found === undefined) {
    const reason = "the defaults are in force, and no conditions say how Lifeboat is";
    return [warning("there is no LifeboatConfiguration", reason, `kubectl apply -f ${EXAMPLE}`)];
  }
  const parsed = parseConfiguration(found.spec);
  const problems = parsed.ok ? [] : parsed.problems.map(({ field, message }) => `${field}: ${message}`);
  const notes = notesOn(settingsOf(facts)).filter((note) => !note.includes("shield"));
  const fix = "kubectl edit lifeboatconfiguration lifeboat";
  return [
    problems.length === 0
      ? ok("the LifeboatConfiguration is valid")
      : failed("the LifeboatConfiguration is not in force", problems, fix),
    ...notes.map((note) => warning("a setting has no effect", note, fix)),
    ...(["Ready", "Permitted", "WebhookCalled", "ReviewsDecided"] as const).map((type) =>
      judgeCondition(type, found, facts),
    ),
  ];
}

const EXAMPLE = "infra/kubernetes/optional/configuration/configuration.yaml";
