/** The check of the Secrets with tokens of Lifeboat's account: which is in use, how old it is, which nothing needs. */
import { durationText } from "../../../shared/policy/duration-text.ts";
import { type Check, failed, type Finding, ok, readable, warning } from "./check.ts";
import { isAnswered } from "./eviction.ts";
import { isInCluster, type Reads } from "./reads.ts";

/** A token that has no end is replaced by hand; once a year is what most rules ask for. */
const OLD_SECONDS = 365 * 86_400;
const ROTATE = "lifeboat rotate";

export const tokens: Check = {
  group: "Credentials",
  about: "the Secrets with tokens of Lifeboat's account",
  async find(reads) {
    const all = await reads.tokens();
    if (await isInCluster(reads)) return inCluster(all.map(({ name }) => name));
    const [used, unused] = [all.filter(({ isUsed }) => isUsed), all.filter(({ isUsed }) => !isUsed)];
    const several = warning(
      `${used.length} Secrets hold tokens of Lifeboat's account that have been used`,
      "each of them opens the API server, and the Worker needs one",
      "kubectl -n lifeboat-system get secrets -L kubernetes.io/legacy-token-last-used; delete those that the Worker no longer uses",
    );
    return [
      ...(all.length === 0 ? [await withoutSecret(reads)] : []),
      ...used.map((token) => inUse(token, reads.now)),
      ...(used.length > 1 ? [several] : []),
      ...unused.map(({ name }) => neverUsed(name, used.length > 0)),
    ];
  },
};

function inCluster(names: readonly string[]): readonly Finding[] {
  if (names.length === 0) return [ok("the kubelet renews the tokens of Lifeboat's pods")];
  const reason = "it has no end, and nothing in the cluster needs it";
  return names.map((name) => {
    return warning(`Secret ${name} holds a token of Lifeboat's account`, reason, deleting(name));
  });
}

/** A bound token has its end in itself, and no Secret; one whose Secret was deleted is revoked. Only the trial tells them apart. */
async function withoutSecret({ trial }: Reads): Promise<Finding> {
  const said = "no Secret holds a token of Lifeboat's account";
  const answered = isAnswered(await readable(trial));
  if (answered === true) return ok(`${said}: the Worker's ends by itself`);
  const reason = "the Worker's token ends by itself, or was revoked: then Lifeboat can neither read nor move anything";
  return answered === false ? failed(said, reason, ROTATE) : warning(said, reason, ROTATE);
}

function inUse({ name, createdAt }: Awaited<ReturnType<Reads["tokens"]>>[number], now: Date): Finding {
  const seconds = (now.getTime() - Date.parse(createdAt)) / 1000;
  const said = `Lifeboat's token in Secret ${name} is ${durationText(seconds)} old`;
  if (seconds <= OLD_SECONDS) return ok(said);
  return warning(said, "it has no end: replace it once a year, or take one that ends by itself", ROTATE);
}

function neverUsed(name: string, isAnotherUsed: boolean): Finding {
  const said = `Lifeboat's token in Secret ${name} has never been used`;
  if (!isAnotherUsed) return warning(said, "the Worker has another one, or none", ROTATE);
  return warning(said, "a rotation has not ended, or nothing needs it", deleting(name));
}

function deleting(name: string): string {
  return `kubectl -n lifeboat-system delete secret ${name}`;
}
