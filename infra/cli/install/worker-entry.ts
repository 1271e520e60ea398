/** Reads and writes the file with the Worker's entry for a cluster. */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { InvalidArgumentError } from "@commander-js/extra-typings";
import * as z from "zod";
import { parseRegistryEntry } from "../../../shared/settings/clusters.ts";
import type { Send } from "../../../shared/kube/transport.ts";
import { Failed, UsageError } from "../failed.ts";
import type { Host } from "../host.ts";
import { createSecretFile } from "../secret-file.ts";
import { INSTALL_MESSAGES as MESSAGES } from "./messages.ts";
import { createToken, deleteToken } from "./token.ts";

const Token = z.union([z.string(), z.array(z.string()).min(1)]);
const Entry = z.looseObject({ server: z.string(), token: z.string(), webhookToken: Token, operatorToken: Token });

export interface WorkerEntry {
  readonly file: string;
  readonly server: string;
  readonly token: string;
  readonly webhookToken: string;
  readonly operatorToken: string;
}

interface From {
  readonly server: string;
  readonly send: () => Send;
  readonly host: Host;
}

/**
 * Writes a new entry with new tokens into a file that only its owner can read. Deletes the Secret with the new token if
 * the write fails.
 */
export async function newEntry(file: string, { server, send, host }: From): Promise<WorkerEntry> {
  const { name, token } = await createToken(send, host);
  const entry = { webhookToken: randomBytes(32).toString("hex"), operatorToken: randomBytes(32).toString("hex") };
  try {
    await createSecretFile(file, entryText({ server, token, ...entry }));
  } catch (error) {
    await deleteToken(send(), name, host);
    throw error;
  }
  return { file, server, token, ...entry };
}

function entryText(entry: object): string {
  return `${JSON.stringify(entry, null, 2)}\n`;
}

/**
 * Reads the Worker's entry from its file. If a field lists several tokens, returns only the first, which is the newest.
 * Returns undefined if there is no file. No message quotes the file, because the file contains tokens.
 */
export async function readEntry(file: string, cluster: string): Promise<WorkerEntry | undefined> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const parsed = parseRegistryEntry(text, cluster);
  const [problem] = parsed.ok ? [] : parsed.problems;
  if (problem !== undefined) throw new Failed(MESSAGES.noEntry(file, `${problem.field}: ${problem.message}`));
  const entry = Entry.safeParse(JSON.parse(text));
  if (!entry.success) throw new Failed(MESSAGES.noEntry(file, MESSAGES.expectedTokens));
  const { server, token, webhookToken, operatorToken } = entry.data;
  return {
    file,
    server,
    token,
    webhookToken: [webhookToken].flat()[0] ?? "",
    operatorToken: [operatorToken].flat()[0] ?? "",
  };
}

/**
 * Returns the Worker's URL without a trailing slash. Throws if the URL does not use https, or if it contains the path
 * of a cluster.
 */
export function workerUrlOf(text: string): string {
  const url = URL.parse(text);
  if (url?.protocol !== "https:") throw new InvalidArgumentError(MESSAGES.expectedHttps);
  if (url.pathname.startsWith("/clusters/")) throw new InvalidArgumentError(MESSAGES.expectedOwnAddress);
  return url.href.replace(/\/+$/, "");
}

export function pemIn(file: string): string {
  let text = "";
  try {
    text = readFileSync(file, "utf8");
  } catch {
    // An unreadable file gets the same error as a file without a certificate.
  }
  if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
  throw new InvalidArgumentError(MESSAGES.expectedPem);
}

/**
 * Returns the given name of the cluster, or the name of the context. Throws if the name cannot be a cluster's name in
 * the Worker.
 */
export function clusterNameOf(said: string | undefined, context: string): string {
  const name = said ?? context;
  if (/^[A-Za-z0-9][\w.-]{0,127}$/.test(name)) return name;
  throw new UsageError(said === undefined ? MESSAGES.needsClusterName(context) : MESSAGES.oddClusterName(said));
}
