/** A webhook that allows everything and remembers what it was asked. */
import { once } from "node:events";
import { createServer } from "node:https";
import type { IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import * as z from "zod/mini";
import type { Authority } from "../../../infra/sandbox/index.ts";

const Review = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  request: z.looseObject({
    uid: z.string(),
    name: z.string(),
    operation: z.string(),
    dryRun: z.boolean(),
    /** A deletion has none. */
    object: z.nullable(z.looseObject({ apiVersion: z.string() })),
  }),
});

export type ReviewRequest = z.infer<typeof Review>["request"] & {
  /** Where it was asked. */
  readonly path: string;
};

export interface ReviewRecorder {
  readonly url: string;
  readonly asked: ReviewRequest[];
  stop(): Promise<void>;
}

export async function startReviewRecorder(authority: Authority): Promise<ReviewRecorder> {
  const asked: ReviewRequest[] = [];
  const { certPem, keyPem } = await authority.issue(["127.0.0.1"]);
  const answer = async (incoming: IncomingMessage): Promise<string> => {
    const { apiVersion, kind, request } = z.parse(Review, await json(incoming));
    asked.push({ ...request, path: incoming.url?.split("?")[0] ?? "" });
    return JSON.stringify({ apiVersion, kind, response: { uid: request.uid, allowed: true } });
  };
  const server = createServer({ cert: certPem, key: keyPem }, (incoming, outgoing) => {
    answer(incoming).then(
      (text) => outgoing.end(text),
      () => outgoing.writeHead(400).end(),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the webhook has no port");
  return {
    url: `https://127.0.0.1:${address.port}`,
    asked,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
