/**
 * What an accepted configuration is good for: requests that carry what Lifeboat says and nothing else in its place, doors that no short
 * secret opens, settings that the policy was made for.
 */
import { Webhook } from "standardwebhooks";
import { isSigned } from "../../../functions/auth.ts";
import { sender } from "../../../shared/kube/transport.ts";
import type { ClusterEntry } from "../../../shared/settings/clusters.ts";
import { LONGEST_SECONDS } from "../../support/generators/settings.ts";
import { NOW } from "../../support/fixtures.ts";
import { expect } from "./expectations.ts";

const PATH = "/api/v1/nodes";
const SHORTEST_TOKEN = 16;
const SECRET_BYTES = { least: 24, most: 64 };

export async function expectUsable(entry: ClusterEntry): Promise<void> {
  expectServer(entry.server);
  expectHeaders(await requestTo(entry), entry);
  for (const token of [entry.webhookToken, entry.operatorToken ?? entry.webhookToken].flat()) {
    expect(token.length >= SHORTEST_TOKEN && isOneWord(token), "a door for a word that can be guessed, or not be sent");
  }
  for (const secret of [entry.relaySecret ?? []].flat()) await expectSigning(secret);
  expect(entry.relaySecret?.length !== 0, "a door that no secret opens");
}

function expectServer(server: string): void {
  if (/^binding:\w+$/.test(server)) return;
  const { protocol, hostname, username, password, pathname, search, hash } = new URL(`${server}${PATH}`);
  const loopback = hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]";
  expect(protocol === "https:" || (protocol === "http:" && loopback), `in the clear: ${server}`);
  expect(pathname.endsWith(PATH), `asks for something else: ${server}`);
  expect(
    [username, password, search, hash].every((part) => part === ""),
    `more than an address: ${server}`,
  );
}

/** The headers of a request that writes. */
async function requestTo({ token, headers }: ClusterEntry): Promise<Headers> {
  const sent: Headers[] = [];
  const fetch = async (_: string, init: RequestInit) => {
    sent.push(new Headers(init.headers));
    return Response.json({});
  };
  const endpoint = { server: "https://api.example.com", token, headers, fetch };
  const send = sender(endpoint, new AbortController().signal);
  await send({ method: "POST", path: PATH, body: {} });
  const [first] = sent;
  if (first === undefined) throw new Error("no request");
  return first;
}

function expectHeaders(sent: Headers, { token, headers }: ClusterEntry): void {
  const ours: Readonly<Record<string, string>> = {
    accept: "application/json, */*",
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    "user-agent": "lifeboat",
  };
  for (const [name, value] of Object.entries(ours)) expect(sent.get(name) === value, `another ${name}`);
  expect(isOneWord(token), "a token of several words");
  for (const name of Object.keys(headers)) {
    const lower = name.toLowerCase();
    expect(!Object.hasOwn(ours, lower) && !lower.startsWith("impersonate-"), `${name} is not the cluster's to set`);
  }
}

function isOneWord(token: string): boolean {
  return /^\S+$/.test(token) && new Headers({ "x-token": token }).get("x-token") === token;
}

/** Long enough; and what the relay signs with it, the Worker knows to be signed. */
async function expectSigning(secret: string): Promise<void> {
  const bytes = Buffer.from(secret.replace("whsec_", ""), "base64").length;
  expect(bytes >= SECRET_BYTES.least && bytes <= SECRET_BYTES.most, `a secret of ${bytes} bytes`);
  const signature = new Webhook(secret).sign("msg_1", NOW, "[]");
  const headers = { id: "msg_1", timestamp: String(NOW.getTime() / 1000), signature };
  expect(await isSigned("[]", headers, [secret], NOW), "a secret that signs one thing and verifies another");
}

/** Numbers that policy can count with: seconds up to a week, whole numbers of everything else, and a requester to hold for. */
export function expectForeseen(value: unknown, key = "spec"): void {
  if (typeof value === "number") expect(isForeseen(value, key), `${key}: ${value}`);
  if (typeof value !== "object" || value === null) return;
  const inner = Object.entries(value);
  expect(key !== "requesters" || inner.length > 0, "nothing to hold for");
  for (const [name, one] of inner) expectForeseen(one, name);
}

function isForeseen(value: number, key: string): boolean {
  const isTime = /Seconds|Preemption|Taint|Termination/.test(key);
  const isInRange = isTime ? value <= LONGEST_SECONDS : Number.isSafeInteger(value);
  return isInRange && value >= (key === "maxAttempts" ? 1 : 0);
}
