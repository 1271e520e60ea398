/** Following an Evacuation that a person has asked for or withdrawn, until it has ended, or until nothing takes it up. */
import { isActive, isUnfinished } from "../../shared/policy/evacuation/phase.ts";
import type { EvacuationFacts, EvacuationStatus, NamespacedName } from "../../shared/policy/facts.ts";
import type { Connection } from "./connection.ts";
import { EXIT, type ExitCode } from "./command.ts";
import { Failed } from "./failed.ts";
import type { Host } from "./host.ts";
import { plain } from "./print.ts";

export interface Following {
  readonly connection: Connection;
  readonly host: Host;
  /** Whether what was asked for has come about, so far as the person wants to wait. */
  readonly isReached: (status: EvacuationStatus) => boolean;
}

const LOOK_MS = 1000;
/** Without a relay the tick of every minute takes it up. */
const TAKEN_UP_SECONDS = 90;

export async function follow(
  evacuation: EvacuationFacts,
  { connection, host, isReached }: Following,
): Promise<ExitCode> {
  const until = host.now().getTime() + TAKEN_UP_SECONDS * 1000;
  const say = sayer(host);
  while (!host.interrupted.aborted) {
    const found = await find(evacuation, connection);
    if (found === undefined) throw new Failed(`Evacuation ${evacuation.name} has been removed`);
    say(found);
    if (isReached(found.status)) return EXIT.done;
    if (isOver(found)) return EXIT.failed;
    if (!isTakenUp(found) && host.now().getTime() > until) {
      const nothing = `nothing has taken this up for ${TAKEN_UP_SECONDS} s: is Lifeboat running? \`lifeboat doctor\` looks.`;
      throw new Failed(`${nothing} The Evacuation stays: Lifeboat takes it up when it runs.`);
    }
    await host.wait(LOOK_MS);
  }
  return EXIT.interrupted;
}

/** What was cancelled is over once its mark and migration are taken back, too. */
function isOver(found: EvacuationFacts): boolean {
  return found.spec.intent === "Withdrawn" ? !isUnfinished(found) : !isActive(found);
}

/** One that is withdrawn ends as soon as it is looked at. */
function isTakenUp({ spec, status }: EvacuationFacts): boolean {
  return status.phase !== undefined && spec.intent === "Evacuate";
}

async function find(evacuation: EvacuationFacts, connection: Connection): Promise<EvacuationFacts | undefined> {
  const vmi: NamespacedName = { namespace: evacuation.namespace, name: evacuation.spec.vmiName };
  return (await connection.cluster().listEvacuations(vmi)).find(({ uid }) => uid === evacuation.uid);
}

/** Says what has changed. */
function sayer({ stderr }: Host): (evacuation: EvacuationFacts) => void {
  let told: string | undefined;
  return ({ status: { phase, reason, message } }) => {
    const line = [phase, reason && reason !== phase && `(${reason})`, message && `– ${message}`]
      .filter(Boolean)
      .join(" ");
    if (line !== "" && line !== told) stderr.write(`${plain(line)}\n`);
    told = line;
  };
}
