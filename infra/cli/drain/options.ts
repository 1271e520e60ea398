/** The command line of `lifeboat drain`. */
import type { DrainFlags } from "../../../shared/policy/preflight/facts.ts";
import { FLAG, TEXT, UsageError } from "../../tools/console/arguments.ts";
import { COMMON_USAGE, nameIn, readCommand, secondsOf } from "../command.ts";
import { DRAIN_FLAGS } from "../explain-node.ts";

export const FLAGS = {
  ...DRAIN_FLAGS,
  "ignore-daemonsets": FLAG,
  "grace-period": TEXT,
  "dry-run": FLAG,
  yes: { ...FLAG, short: "y" },
  timeout: TEXT,
  "wait-for-blocked": FLAG,
  "stop-blocked": FLAG,
  restart: FLAG,
} as const;

export const USAGE = `drain NODE [--dry-run] [--yes] [--timeout 1h] [--wait-for-blocked] [--stop-blocked [--restart]]

Says what a drain of the node would do (as explain node), asks where it would not simply end, cordons the node, and evicts its pods
as kubectl drain does until it is empty: virtual machines move to other nodes. Ctrl-C leaves the node cordoned, and what moves goes
on moving; the same command goes on from there.

      --dry-run               ends after the preflight
  -y, --yes                   asks nothing
      --timeout 1h            how long to try (default: until it is done)
      --wait-for-blocked      goes on until what blocks has been changed by those who can; without it the drain ends once all
                              that can leave has left
      --stop-blocked          stops VMs that cannot move: asks first, and names each
      --restart               starts those again, on other nodes, once they have stopped
      --force                 as with kubectl drain: pods without a controller go, too
      --delete-emptydir-data  as with kubectl drain: pods with an emptyDir go, too
      --grace-period SECONDS  as with kubectl drain: how long pods may take to end (default: as each says)
      --ignore-daemonsets     always so
${COMMON_USAGE}

Exit code: 0 the node is empty, 1 it is not within --timeout, or something failed, 3 something blocks, 4 not everything could be
read, and there is no terminal to ask on, 130 interrupted.
`;

export interface DrainOptions {
  readonly node: string;
  readonly flags: DrainFlags;
  readonly gracePeriodSeconds: number | undefined;
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly timeoutSeconds: number;
  readonly waitForBlocked: boolean;
  readonly stopBlocked: boolean;
  readonly restart: boolean;
}

export function readOptions(args: readonly string[]) {
  const { values, positionals } = readCommand(args, FLAGS);
  if (values.restart && !values["stop-blocked"]) throw new UsageError("--restart: only with --stop-blocked");
  const { timeout } = values;
  const options: DrainOptions = {
    node: nameIn(positionals, "NODE"),
    flags: { force: values.force, deleteEmptyDirData: values["delete-emptydir-data"] },
    gracePeriodSeconds: graceOf(values["grace-period"]),
    dryRun: values["dry-run"],
    yes: values.yes,
    timeoutSeconds: timeout === undefined ? Number.POSITIVE_INFINITY : secondsOf("--timeout", timeout),
    waitForBlocked: values["wait-for-blocked"],
    stopBlocked: values["stop-blocked"],
    restart: values.restart,
  };
  return { options, values };
}

function graceOf(text: string | undefined): number | undefined {
  if (text === undefined || text === "-1") return undefined;
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new UsageError(`--grace-period: expected seconds, got "${text}"`);
}
