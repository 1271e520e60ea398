/**
 * The floor of a page: a Worker that makes the requests it needs, all of them at once, and parses the answers.
 * Owns: that. Does not own: which requests these are: the caller names them.
 */
interface Env {
  readonly CLUSTERS: string;
}

interface Entry {
  readonly server: string;
  readonly token: string;
}

export default {
  async fetch(request: Request, { CLUSTERS }: Env): Promise<Response> {
    const { server, token } = (JSON.parse(CLUSTERS) as { bench: Entry }).bench;
    const headers = { accept: "application/json", authorization: `Bearer ${token}`, "user-agent": "floor" };
    const paths = (await request.json()) as readonly string[];
    const answers = await Promise.all(
      paths.map(async (path) => (await (await fetch(`${server}${path}`, { headers })).json()) as object),
    );
    return Response.json({ read: answers.length });
  },
};
