/**
 * Lifeboat with a door to its scheduled handler, which workerd has none to: `POST /tick?time=<milliseconds since the epoch>`.
 * Does not own: anything that Lifeboat does.
 */
import lifeboat from "../../../../functions/index.ts";

export default {
  async fetch(...[request, env, context]: Parameters<typeof lifeboat.fetch>): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname !== "/tick") return await lifeboat.fetch(request, env, context);
    await lifeboat.scheduled({ scheduledTime: Number(url.searchParams.get("time")) }, env ?? {});
    return Response.json({});
  },
};
