/** A webhook that records its reviews and gives the answers of the test's scenario. */
import { createServer, type Server } from "node:https";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createAuthority } from "../../certificates.ts";

export interface Review {
  readonly url: string;
  readonly [field: string]: unknown;
}

export type Reply =
  | "never"
  | "closed"
  | { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

export type Replies = Readonly<Record<string, Reply>>;

const ALLOW = envelope('{"uid":"<review>","allowed":true}');

export class Hook {
  readonly calls: Review[] = [];
  replies: Replies = {};
  url = "";
  caBundle = "";
  #server: Server | undefined;

  async start(): Promise<void> {
    const authority = await createAuthority("hook");
    this.caBundle = Buffer.from(authority.caPem).toString("base64");
    const { certPem, keyPem } = await authority.issue(["127.0.0.1"]);
    this.#server = createServer({ cert: certPem, key: keyPem }, (incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", () => this.#answer(incoming.url ?? "", Buffer.concat(chunks).toString(), outgoing));
    });
    await new Promise<void>((resolve) => this.#server?.listen(0, "127.0.0.1", resolve));
    this.url = `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
  }

  #answer(url: string, text: string, outgoing: ServerResponse): void {
    const { request }: { request: Record<string, unknown> } = JSON.parse(text);
    this.calls.push({ url, ...request });
    const reply = this.replies[url.split("?")[0] ?? ""] ?? { body: ALLOW };
    if (reply === "never") return;
    if (reply === "closed") return void outgoing.destroy();
    outgoing.writeHead(reply.status ?? 200, { "content-type": "application/json", ...reply.headers });
    outgoing.end(reply.body?.replaceAll("<review>", String(request["uid"])));
  }
}

export function envelope(response: string): string {
  return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":${response}}`;
}
