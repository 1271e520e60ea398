/** An API server of the sandbox for one test file. */
import { type ApiServer, type ApiServerOptions, startApiServer } from "../../apiserver/server.ts";
import { type Authority, createAuthority } from "../../certificates.ts";
import { type Target, targetOf } from "./client.ts";

export interface Started {
  readonly server: ApiServer;
  readonly authority: Authority;
  /** As the administrator. */
  readonly admin: Target;
  stop(): Promise<void>;
}

export const ADMIN_TOKEN = "admin";

export async function start(options: Partial<ApiServerOptions> = {}): Promise<Started> {
  const authority = await createAuthority("test");
  const tokens = { [ADMIN_TOKEN]: { user: "kubernetes-admin", groups: ["system:masters"] }, ...options.tokens };
  const server = await startApiServer({ ...options, authority, tokens });
  const endpoint = { name: "sandbox", url: server.url, ca: authority.caPem, token: ADMIN_TOKEN };
  const admin = targetOf({ ...endpoint, stop: async () => {} });
  const stop = async (): Promise<void> => {
    await admin.stop();
    await server.stop();
  };
  return { server, authority, admin, stop };
}
