/**
 * The least a Worker can be: what the start-up of workerd itself costs.
 * Owns: an answer. Does not own: anything.
 */
export default { fetch: () => Response.json({ healthy: true }) };
