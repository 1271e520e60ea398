/** What is wrong with Lifeboat itself in a cluster. */
import type { Condition, ConfigurationObserved } from "../../../shared/policy/configuration-status.ts";
import { CONFIGURATION, GUARD_WEBHOOKS, OWN_WEBHOOKS } from "../../../shared/policy/names.ts";

export interface ClusterProblem {
  /** `bad`: Lifeboat does not do what it is to do. `warn`: it will not, or that is not known. */
  readonly mood: "bad" | "warn";
  readonly title: string;
  readonly message: string;
  /** Shows more, or helps. */
  readonly command: string;
}

type Conditions = ConfigurationObserved["conditions"];
type Type = Condition["type"];

const SEE_CONFIGURATION = `kubectl get lifeboatconfiguration ${CONFIGURATION} -o yaml`;
const SEE_WEBHOOKS = `kubectl get validatingwebhookconfigurations ${OWN_WEBHOOKS} ${GUARD_WEBHOOKS} -o yaml`;
const DOCTOR = "lifeboat doctor";

const WORDS: Readonly<Record<Type, { readonly False: string; readonly Unknown: string; readonly command: string }>> = {
  WebhookCalled: {
    False: "The API server does not ask Lifeboat about evictions",
    Unknown: "No eviction has been seen yet",
    command: SEE_WEBHOOKS,
  },
  Permitted: {
    False: "Lifeboat lacks a permission",
    Unknown: "Lifeboat's permissions could not be tried",
    command: DOCTOR,
  },
  Ready: {
    False: "The configuration is not valid",
    Unknown: "The configuration has not been judged",
    command: SEE_CONFIGURATION,
  },
  CredentialsValid: {
    False: "Lifeboat's token does not work any more",
    Unknown: "Lifeboat's token has not been tried",
    command: DOCTOR,
  },
  ReviewsDecided: {
    False: "An eviction was answered without the facts",
    Unknown: "Whether evictions are answered is not known",
    command: SEE_CONFIGURATION,
  },
};
const TYPES = [
  "WebhookCalled",
  "Permitted",
  "Ready",
  "ReviewsDecided",
  "CredentialsValid",
] as const satisfies readonly Type[];

/** The worst come first. */
export function clusterProblems(conditions: Conditions): readonly ClusterProblem[] {
  const found = TYPES.flatMap((type) => problemOf(type, conditions));
  return found.toSorted((a, b) => Number(a.mood === "warn") - Number(b.mood === "warn"));
}

function problemOf(type: Type, conditions: Conditions): readonly ClusterProblem[] {
  const condition = conditions.find((one) => one.type === type);
  if (condition?.reason === "ExpiresSoon")
    return [{ mood: "warn", title: "Lifeboat's token ends soon", message: condition.message, command: DOCTOR }];
  if (condition === undefined || condition.status === "True") return [];
  const { command, ...titles } = WORDS[type];
  const isFalse = condition.status === "False";
  const title = isFalse ? titles.False : titles.Unknown;
  return [{ mood: isFalse ? "bad" : "warn", title, message: condition.message, command }];
}
