/**
 * What a Worker has to know of a cluster: its entry of CLUSTERS or of the registry, in a file that the administrator keeps.
 * Owns: the file, and making its tokens. Does not own: the way into Cloudflare, the entry's shape (shared/config/clusters.ts).
 */
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import * as z from "zod";
import { parseRegistryEntry } from "../../../shared/config/clusters.ts";
import { Failed } from "../failed.ts";

const Token = z.union([z.string(), z.array(z.string()).min(1)]);
const Entry = z.looseObject({ server: z.string(), token: z.string(), webhookToken: Token, operatorToken: Token });

export interface WorkerEntry {
  readonly webhookToken: string;
  readonly operatorToken: string;
}

/** The one that the file holds, else a new one, which is written there for its owner's eyes only. */
export async function keepEntry(
  file: string,
  fresh: { readonly server: string; readonly token: string },
  cluster: string,
): Promise<WorkerEntry> {
  const found = await readEntry(file, cluster);
  if (found !== undefined) return found;
  const entry = { webhookToken: randomBytes(32).toString("hex"), operatorToken: randomBytes(32).toString("hex") };
  const text = JSON.stringify({ ...fresh, ...entry }, null, 2);
  await writeFile(file, `${text}\n`, { mode: 0o600, flag: "wx" });
  return entry;
}

/** Writes nothing: without the file, placeholders. */
export async function findEntry(file: string, cluster: string): Promise<WorkerEntry> {
  const placeholders = { webhookToken: "WEBHOOK_TOKEN", operatorToken: "OPERATOR_TOKEN" };
  return (await readEntry(file, cluster)) ?? placeholders;
}

async function readEntry(file: string, cluster: string): Promise<WorkerEntry | undefined> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  return text === undefined ? undefined : entryIn(text, cluster, file);
}

/** Of a list, the first: the newest. No message has what the file says. */
function entryIn(text: string, cluster: string, file: string): WorkerEntry {
  const parsed = parseRegistryEntry(text, cluster);
  if (!parsed.ok) {
    const [problem] = parsed.problems;
    throw new Failed(`${file} is no entry for a cluster: ${problem?.field ?? ""}: ${problem?.message ?? ""}`);
  }
  const entry = Entry.safeParse(JSON.parse(text));
  if (!entry.success) throw new Failed(`${file} is no entry for a cluster: expected webhookToken and operatorToken`);
  const { webhookToken, operatorToken } = entry.data;
  return { webhookToken: firstOf(webhookToken), operatorToken: firstOf(operatorToken) };
}

function firstOf(token: string | readonly string[]): string {
  return typeof token === "string" ? token : (token[0] ?? "");
}
