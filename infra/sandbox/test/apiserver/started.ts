/** Starts an API server of the sandbox for one test file. */
import { Agent } from "node:https";
import { type ApiServer, type ApiServerOptions, startApiServer } from "../../apiserver/server.ts";
import { type Authority, createAuthority } from "../../certificates.ts";
import { type Request, type Response, send } from "../send.ts";

export interface Started {
  readonly server: ApiServer;
  readonly authority: Authority;
  readonly admin: {
    send(request: Request): Promise<Response>;
    stop(): void;
  };
  stop(): Promise<void>;
}

export const ADMIN_TOKEN = "admin";

export async function start(options: Partial<ApiServerOptions> = {}): Promise<Started> {
  const authority = await createAuthority("test");
  const tokens = { [ADMIN_TOKEN]: { user: "kubernetes-admin", groups: ["system:masters"] }, ...options.tokens };
  const server = await startApiServer({ ...options, authority, tokens });
  const agent = new Agent({ ca: authority.caPem, keepAlive: true });
  const connection = { url: server.url, agent, token: ADMIN_TOKEN };
  const admin: Started["admin"] = { send: (request) => send(connection, request), stop: () => agent.destroy() };
  const stop = async (): Promise<void> => {
    admin.stop();
    await server.stop();
  };
  return { server, authority, admin, stop };
}
