/** `lifeboat evacuations`: what leaves which node, and why. */
import * as z from "zod/mini";
import { UsageError } from "../tools/console/arguments.ts";
import { type Add, EXIT, type ExitCode, output } from "./command.ts";
import type { Connection } from "./connection.ts";
import type { Host } from "./host.ts";
import { durationText } from "../../shared/policy/duration-text.ts";
import { printData, printTable } from "./print.ts";

const LOOK_MS = 2000;

const Text = z._default(z.string(), "");
const Metadata = z.looseObject({
  name: z.string(),
  namespace: z.string(),
  uid: z.string(),
  creationTimestamp: z.string(),
});
const Named = z._default(z.looseObject({ name: Text }), { name: "" });
const Status = z.looseObject({
  sourceNode: Text,
  targetNode: Text,
  phase: Text,
  message: Text,
  attempts: z._default(z.number(), 0),
  migration: Named,
});
const Evacuation = z.looseObject({
  metadata: Metadata,
  spec: z.looseObject({ virtualMachineInstance: Named, cause: Text, requestedBy: Text }),
  status: z._default(Status, Status.parse({})),
});
type Evacuation = z.output<typeof Evacuation>;

export const evacuations: Add = (program, { host, connect, ends }) => {
  program
    .command("evacuations")
    .summary("what leaves which node, why, and how far it is")
    .description(
      "Lists Evacuations, those that ended within the last hour (evacuation.historySeconds) included. Oldest first.",
    )
    .option("-A, --all-namespaces")
    .option("-w, --watch", "go on, and print each one again when it changes")
    .addOption(output(["json", "yaml", "name", "wide"], "data, or wide: who asked, the migration, and why it waits"))
    .action(
      ends(async ({ allNamespaces: all = false, watch, output: form }) => {
        const isTable = form === undefined || form === "wide";
        if (watch && !isTable) throw new UsageError(`--watch: expected no --output but wide, got "${form}"`);
        const connection = connect();
        const namespace = all ? undefined : connection.namespace;
        const view = { wide: form === "wide", all, now: host.now };
        const listed = await list(connection, namespace);
        if (!isTable) printAs(form, listed, host);
        else if (listed.length > 0) printRows(listed, view, host);
        else host.stderr.write(`No evacuations found${all ? "" : ` in namespace ${connection.namespace}`}.\n`);
        return watch ? await follow(listed, () => list(connection, namespace), view, host) : EXIT.done;
      }),
    );
};

/** A watch would tell no more, and the command would have to open it again when it breaks. */
async function follow(
  listed: readonly Evacuation[],
  again: () => Promise<readonly Evacuation[]>,
  view: View,
  host: Host,
): Promise<ExitCode> {
  let known = contentsOf(listed);
  for (;;) {
    await host.wait(LOOK_MS);
    if (host.interrupted.aborted) return EXIT.interrupted;
    const found = await again();
    const contents = contentsOf(found);
    const changed = found.filter(({ metadata: { uid } }) => known.get(uid) !== contents.get(uid));
    if (changed.length > 0) printRows(changed, view, host);
    known = contents;
  }
}

function contentsOf(listed: readonly Evacuation[]): ReadonlyMap<string, string> {
  return new Map(listed.map(({ metadata, spec, status }) => [metadata.uid, JSON.stringify([spec, status])]));
}

function printAs(form: "json" | "yaml" | "name", listed: readonly Evacuation[], host: Host): void {
  const items = listed.map(withoutManagers);
  if (form !== "name") return printData({ apiVersion: "v1", kind: "List", items }, form, host);
  for (const { metadata } of listed) host.stdout.write(`evacuation.lifeboat.dev/${metadata.name}\n`);
}

function withoutManagers(one: Evacuation) {
  const { managedFields: _, ...metadata } = one.metadata;
  return { ...one, metadata };
}

interface View {
  readonly wide: boolean;
  readonly all: boolean;
  readonly now: () => Date;
}

async function list(connection: Connection, namespace: string | undefined): Promise<readonly Evacuation[]> {
  const found = await connection.cluster().list("evacuations", { namespace, as: Evacuation });
  return found.toSorted((a, b) => (ageKey(a) < ageKey(b) ? -1 : 1));
}

function ageKey({ metadata: { creationTimestamp, namespace, name } }: Evacuation): string {
  return `${creationTimestamp}/${namespace}/${name}`;
}

function printRows(shown: readonly Evacuation[], view: View, host: Host): void {
  const header = ["VM", "FROM", "TO", "CAUSE", "PHASE", "ATTEMPTS", "AGE"];
  const wide = view.wide ? ["REQUESTED BY", "MIGRATION", "MESSAGE"] : [];
  const columns = [...(view.all ? ["NAMESPACE"] : []), ...header, ...wide];
  const rows = shown.map((one) => rowOf(one, view));
  printTable(columns, rows, host.stdout);
}

function rowOf({ metadata, spec, status }: Evacuation, { wide, all, now }: View): readonly string[] {
  const age = durationText((now().getTime() - Date.parse(metadata.creationTimestamp)) / 1000);
  const { sourceNode, targetNode, phase, attempts } = status;
  const row = [spec.virtualMachineInstance.name, sourceNode, targetNode, spec.cause, phase, String(attempts), age];
  const more = wide ? [spec.requestedBy, status.migration.name, status.message] : [];
  return [...(all ? [metadata.namespace] : []), ...row, ...more];
}
