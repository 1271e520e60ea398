/**
 * What goes with the answer to an eviction, refused or not: what Lifeboat knows and the refusal does not say.
 *
 * KubeVirt's webhook refuses the same request, and the API server passes on one refusal only, usually KubeVirt's; but it passes on the
 * warnings of all webhooks. kubectl prints each text once, so that no text here counts seconds.
 */
import { activeEvacuation, isAbout, byAge, backingOffEvacuation } from "../evacuation/identity.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { REMEDY, remedyOfBlocked } from "./remedies.ts";
import { withoutFractions } from "../settings/time.ts";
import type { DenyReason, EvictionDecision, EvictionFacts } from "./decide.ts";
import { quoted } from "./messages.ts";

/** The API server may shorten longer ones (`truncateItemRunes`), and drops one with a control character. */
const MOST_CHARACTERS = 256;

export function warningsOf(f: EvictionFacts, ruling: EvictionDecision): readonly string[] {
  const texts = ruling.verdict === "Allow" ? ruling.warnings : refused(f, ruling);
  return [...new Set(texts.map(sayable))];
}

function refused(
  f: EvictionFacts,
  { reason, message }: Extract<EvictionDecision, { verdict: "Deny" }>,
): readonly string[] {
  const remedy = REMEDIES[reason];
  return [...(remedy === undefined ? [] : [`${message}; ${remedy}`]), ...ofEvacuations(f)];
}

/** Of refusals that no Evacuation tells of. */
const REMEDIES: Partial<Record<DenyReason, string>> = {
  NotMigratable: REMEDY.NotMigratable,
  UnknownStrategy: REMEDY.UnknownStrategy,
};

function ofEvacuations({ vmi, pod, evacuations, now, settings }: EvictionFacts): readonly string[] {
  if (vmi === undefined || pod === undefined) return [];
  const podUID = pod.uid;
  const given = { vmi: quoted(vmi), nodeName: pod.nodeName ?? "", maxAttempts: settings.evacuation.maxAttempts };
  const abandoned = evacuations
    .filter((e) => e.status.phase === "Abandoned" && isAbout(e, vmi, podUID))
    .toSorted(byAge);
  const ended = [abandoned.at(-1), backingOffEvacuation(vmi, evacuations, { now, podUID })];
  const texts = [...new Set(ended), activeEvacuation(vmi, evacuations, podUID)].map((e) => e && textOf(e, given));
  return texts.filter((text) => text !== undefined);
}

interface Given {
  readonly vmi: string;
  readonly nodeName: string;
  readonly maxAttempts: number;
}

/** Undefined: the evacuation takes its course, or is over. */
function textOf({ status }: EvacuationFacts, { vmi, nodeName, maxAttempts }: Given): string | undefined {
  const { phase, reason = "", message = "", attempts } = status;
  const until = withoutFractions(status.nextAttemptTime ?? "");
  switch (phase) {
    case "Abandoned":
      return `the last evacuation of ${vmi} was abandoned: ${message}`;
    case "Withdrawn":
      return `the last evacuation of ${vmi} was withdrawn: stop the drain to keep the VM on its node. Lifeboat starts no new one before ${until}, KubeVirt's webhook may`;
    case "BackingOff":
      return `evacuation of ${vmi} waits until ${until} after ${failures(attempts, maxAttempts)}: ${message}`;
    case "Blocked":
      return `${vmi} cannot leave node ${nodeName}: ${message}; ${remedyOfBlocked(reason)}`;
    case "WaitingForOwner":
      return `${vmi}: ${message}`;
    case "Migrating":
      return UNUSUAL.has(reason) ? `${vmi}: ${message}` : undefined;
    case "Pending":
    case "Moved":
    case "Duplicate":
    case "Gone":
    case undefined:
      return undefined;
  }
}

/** Why a migration waits for something else than its turn. */
const UNUSUAL: ReadonlySet<string> = new Set(["KubeVirtNotAnswering", "Synchronizing"]);

/** Those of earlier evacuations may have been more than one has. */
function failures(attempts: number, most: number): string {
  return attempts <= most ? `${attempts} of ${most} attempts have failed` : `${attempts} attempts have failed`;
}

/** Without what a header cannot carry or a terminal would obey. */
function sayable(text: string): string {
  const plain = text.toWellFormed().replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");
  return plain.length <= MOST_CHARACTERS ? plain : `${plain.slice(0, MOST_CHARACTERS - 1)}…`.toWellFormed();
}
