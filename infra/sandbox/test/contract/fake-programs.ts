/** Programs in place of etcd and kube-apiserver, for tests of starting and stopping. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface Manners {
  readonly start?: "Missing" | "Fails" | "NeverReady";
  readonly end?: "Never";
}

export interface Programs {
  readonly etcd?: Manners;
  readonly "kube-apiserver"?: Manners;
}

/** They write a line into the journal for each request for readiness, and when they have ended by themselves. */
export async function writePrograms(folder: string, journal: string, manners: Programs): Promise<void> {
  await mkdir(folder);
  for (const [name, own] of [
    ["etcd", ETCD],
    ["kube-apiserver", KUBE_APISERVER],
  ] as const) {
    const settings = { name, journal, ...manners[name] };
    const text = `#!${process.execPath}\n"use strict";\nconst settings = ${JSON.stringify(settings)};\n${COMMON}${own}`;
    if (settings.start !== "Missing") await writeFile(join(folder, name), text, { mode: 0o755 });
  }
}

const COMMON = `
const fs = require("node:fs");
const http = require("node:http");
const https = require("node:https");
const flag = (name) => process.argv.find((arg) => arg.startsWith("--" + name + "=")).slice(name.length + 3);
const write = (what) => fs.appendFileSync(settings.journal, settings.name + " " + what + "\\n");
const end = () => {
  write("ended");
  process.exit();
};
if (settings.start === "Fails") process.exit(7);
`;

const ETCD = `
process.on("SIGTERM", () => settings.end !== "Never" && end());
fs.mkdirSync(flag("data-dir"));
const { port, hostname } = new URL(flag("listen-client-urls"));
http.createServer((_, response) => response.end()).listen(port, hostname);
`;

/** Ending takes a while and needs etcd; without etcd it hangs. */
const KUBE_APISERVER = `
const etcd = (then) => http.get(flag("etcd-servers"), (response) => response.resume().on("end", then));
const letGo = (left) => (left === 0 ? end() : etcd(() => letGo(left - 1)).on("error", () => {}));
process.on("SIGTERM", () => settings.end !== "Never" && letGo(50));
const ready = (response) => {
  write("asked");
  if (settings.start === "NeverReady") return;
  etcd(() => response.end()).on("error", () => response.writeHead(500).end());
};
const tls = { cert: fs.readFileSync(flag("tls-cert-file")), key: fs.readFileSync(flag("tls-private-key-file")) };
https.createServer(tls, (_, response) => ready(response)).listen(Number(flag("secure-port")), flag("bind-address"));
`;
