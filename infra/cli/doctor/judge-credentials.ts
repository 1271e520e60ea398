/** Lifeboat's token of this cluster: where it is, its age, and whether the API server goes on accepting it. */
import { durationText } from "../../../shared/policy/duration-text.ts";
import { failed, type Finding, judged, ok, warning } from "./check.ts";
import type { Facts } from "./facts.ts";
import { isInCluster } from "./form.ts";
import { judgeCondition } from "./judge-conditions.ts";
import { isAnswered } from "./judge-eviction.ts";

const DAY_SECONDS = 86_400;
/** A token that has no end is replaced by hand; once a year is what most rules ask for. */
const OLD_DAYS = 365;
const ROTATE = "lifeboat rotate";
type Tokens = Extract<Facts["tokens"], { readonly value: unknown }>["value"];

export function judgeCredentials(facts: Facts): readonly Finding[] {
  const { tokens, configuration } = facts;
  return [
    ...judged("the Secrets with tokens of Lifeboat's account", tokens, (found) => {
      return isInCluster(facts) ? ofPods(found) : ofWorker(found, facts);
    }),
    ...("value" in configuration && configuration.value !== undefined
      ? [judgeCondition("CredentialsValid", configuration.value, facts)]
      : []),
  ];
}

function ofPods(tokens: Tokens): readonly Finding[] {
  if (tokens.length === 0) return [ok("the kubelet renews the tokens of Lifeboat's pods")];
  return tokens.map(({ name }) => {
    const reason = "it has no end, and nothing in the cluster needs it";
    const fix = `kubectl -n lifeboat-system delete secret ${name}`;
    return warning(`Secret ${name} holds a token of Lifeboat's account`, reason, fix);
  });
}

function ofWorker(tokens: Tokens, facts: Facts): readonly Finding[] {
  const [used, unused] = [tokens.filter(({ isUsed }) => isUsed), tokens.filter(({ isUsed }) => !isUsed)];
  const several = warning(
    `${used.length} Secrets hold tokens of Lifeboat's account that have been used`,
    "each of them opens the API server, and the Worker needs one",
    "kubectl -n lifeboat-system get secrets -L kubernetes.io/legacy-token-last-used; delete those that the Worker no longer uses",
  );
  return [
    ...(tokens.length === 0 ? [ofNoSecret(facts)] : []),
    ...used.map((token) => ofUsed(token, facts)),
    ...(used.length > 1 ? [several] : []),
    ...unused.map((token) => ofUnused(token, used.length > 0)),
  ];
}

/** A bound token has its end in itself, and no Secret; one whose Secret was deleted is revoked. Only the trial tells them apart. */
function ofNoSecret({ trial }: Facts): Finding {
  const said = "no Secret holds a token of Lifeboat's account";
  const answered = isAnswered(trial);
  if (answered === true) return ok(`${said}: the Worker's ends by itself`);
  const reason = "the Worker's token ends by itself, or was revoked: then Lifeboat can neither read nor move anything";
  return answered === false ? failed(said, reason, ROTATE) : warning(said, reason, ROTATE);
}

function ofUsed({ name, createdAt }: Tokens[number], { now }: Facts): Finding {
  const seconds = (now.getTime() - Date.parse(createdAt)) / 1000;
  const said = `Lifeboat's token in Secret ${name} is ${durationText(seconds)} old`;
  if (seconds <= OLD_DAYS * DAY_SECONDS) return ok(said);
  return warning(said, "it has no end: replace it once a year, or take one that ends by itself", ROTATE);
}

function ofUnused({ name }: Tokens[number], isAnotherUsed: boolean): Finding {
  const said = `Lifeboat's token in Secret ${name} has never been used`;
  if (!isAnotherUsed) return warning(said, "the Worker has another one, or none", ROTATE);
  return warning(
    said,
    "a rotation has not ended, or nothing needs it",
    `kubectl -n lifeboat-system delete secret ${name}`,
  );
}
