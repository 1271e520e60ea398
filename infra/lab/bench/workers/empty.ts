/** The least a Worker can be: what the start-up of workerd itself costs. */
export default { fetch: () => Response.json({ healthy: true }) };
