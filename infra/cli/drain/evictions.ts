/**
 * Asking for the pods of a node, again and again, until they are gone. Upstream: kubectl drain (pkg/drain/drain.go): a 429 is asked again
 * after five seconds, a pod that is gone is no failure.
 */
import { keyOf } from "../../../shared/policy/facts.ts";
import { requestEviction } from "../../../shared/cluster/evict.ts";
import { inParallel } from "../../tools/in-parallel.ts";
import type { Connection } from "../connection.ts";
import { Failed } from "../failed.ts";
import { quoted } from "../print.ts";
import { isBlocked, type Subject } from "../../../shared/policy/preflight/subjects.ts";

const AT_ONCE = 10;
const AGAIN_MS = 5000;
/** A VM whose owner is to move it is asked for so that the owner learns of it. */
const SELDOM_MS = 30_000;

export function createEvictions(connection: Connection, gracePeriodSeconds: number | undefined) {
  const notBefore = new Map<string, number>();
  const ask = async ({ key, pod, verdict }: Subject, refusals: Map<string, string>) => {
    const { code, message: said } = await requestEviction(connection.send(), pod, { gracePeriodSeconds });
    const message = quoted(said);
    if (code < 300 || code === 404 || code === 409) return;
    if (isNotPermitted(code, message)) throw new Failed(`you are not allowed to evict pod ${keyOf(pod)}: ${message}`);
    if (verdict.eviction?.allowed === true) refusals.set(key, message);
  };
  return {
    /** What a refusal said that the preflight had not foreseen, by the subject's key. */
    async askFor(subjects: readonly Subject[], now: Date): Promise<ReadonlyMap<string, string>> {
      const refusals = new Map<string, string>();
      const time = now.getTime();
      const due = subjects.filter((subject) => isAskedFor(subject) && (notBefore.get(subject.pod.uid) ?? 0) <= time);
      for (const subject of due) notBefore.set(subject.pod.uid, time + (isBlocked(subject) ? SELDOM_MS : AGAIN_MS));
      await inParallel(due, AT_ONCE, (subject) => ask(subject, refusals));
      return refusals;
    },
  };
}

/**
 * What is refused until a person changes something is not asked for: the next look shows the change. So nothing that blocks is lost
 * if all webhooks are down.
 */
function isAskedFor(subject: Subject): boolean {
  const { pod, verdict } = subject;
  if (pod.deleting || verdict.eviction === undefined || verdict.outcome === "Follows") return false;
  return !isBlocked(subject) || verdict.reason === "External";
}

/** A webhook may refuse with 403, too, and so does the API server in a namespace that is being deleted: both may end. */
function isNotPermitted(code: number, message: string): boolean {
  return code === 403 && message.includes("cannot create resource");
}
