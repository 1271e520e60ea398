/** Bare Hono: what the start-up of a Worker with routes costs before it does anything of its own. */
import { Hono } from "hono";

const app = new Hono();
app.get("/healthz", (c) => c.json({ healthy: true }));
app.post("/clusters/:cluster/:door", (c) => c.json({ cluster: c.req.param("cluster") }));

export default { fetch: app.fetch };
