/** Checks the credentials: the Secret with the token in use, the age of this token, and Secrets with unused tokens. */
import { durationText } from "../../../shared/settings/time.ts";
import { failed, type Finding, ok, warning } from "../../../shared/settings/finding.ts";
import { readable } from "./check.ts";
import { isAnswered } from "./eviction.ts";
import { conditionOf } from "./installation.ts";
import { isInCluster, type DoctorReads } from "./reads.ts";

/** `lifeboat doctor` warns about a token that never expires and is older than this number of seconds. */
const OLD_SECONDS = 365 * 86_400;
const ROTATE = "infra/kubernetes/README.md#rotate says how to give the Worker another token";

export async function tokens(reads: DoctorReads): Promise<readonly Finding[]> {
  const all = await reads.tokens();
  const used = all.filter(({ isUsed }) => isUsed).length;
  if (await isInCluster(reads)) {
    const reason = "the token does not expire, and nothing in the cluster needs it";
    if (all.length === 0) return [ok("the kubelet renews the tokens of Lifeboat's pods")];
    return all.map(({ name }) => warning(`Secret ${name} holds a token of Lifeboat's account`, reason, deleting(name)));
  }
  if (all.length === 0) return [await withoutSecret(reads)];
  const several = warning(
    `${used} Secrets each hold a token of Lifeboat's account that has been used`,
    "each token gives access to the API server, and the Worker needs only one token",
    "kubectl -n lifeboat-system get secrets -L kubernetes.io/legacy-token-last-used; delete the Secrets that the Worker no longer uses",
  );
  return [...all.map((token) => ofSecret(token, used > 0, reads.now)), ...(used > 1 ? [several] : [])];
}

type TokenSecret = Awaited<ReturnType<DoctorReads["tokens"]>>[number];

function ofSecret({ name, createdAt, isUsed }: TokenSecret, isAnyUsed: boolean, now: Date): Finding {
  const seconds = (now.getTime() - Date.parse(createdAt)) / 1000;
  const said = `Lifeboat's token in Secret ${name} ${isUsed ? `is ${durationText(seconds)} old` : "has never been used"}`;
  if (!isUsed && isAnyUsed)
    return warning(
      said,
      "if a rotation is in progress, finish it; otherwise delete the Secret, because nothing needs its token",
      deleting(name),
    );
  if (!isUsed) return warning(said, "the Worker uses another token, or no token", ROTATE);
  if (seconds <= OLD_SECONDS) return ok(said);
  return warning(said, "the token never expires: replace it once a year, or use a token that expires", ROTATE);
}

function deleting(name: string): string {
  return `kubectl -n lifeboat-system delete secret ${name}`;
}

/**
 * Reports on Lifeboat's token if no Secret contains the token. The token is either a bound token, which expires by
 * itself, or a token that was revoked when its Secret was deleted.
 */
async function withoutSecret({ trial }: DoctorReads): Promise<Finding> {
  const said = "no Secret holds a token of Lifeboat's account";
  const answered = isAnswered(await readable(trial));
  if (answered === true) return ok(`${said}: the Worker's token expires by itself`);
  const reason =
    "the Worker's token was revoked, or is a bound token, which expires: without a valid token, Lifeboat can neither read nor move anything";
  return answered === false ? failed(said, reason, ROTATE) : warning(said, reason, ROTATE);
}

/** Reports the condition `CredentialsValid`. Skips the check if the LifeboatConfiguration is missing or unreadable. */
export async function credentialsValid(reads: DoctorReads): Promise<readonly Finding[]> {
  return (await readable(reads.configuration)) ? await conditionOf("CredentialsValid", reads) : [];
}
