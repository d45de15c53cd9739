import * as z from 'zod';

/** The SSH server settings that a user declares for nodes. */
export const Sshd = z
  .strictObject({
    hardening: z
      .boolean()
      .describe(
        'true: no passwords, no password of root, few attempts, no forwarding beyond what Fairlead uses, and modern algorithms only',
      ),
  })
  .meta({ id: 'Sshd', description: 'The SSH server of each node' });
export type Sshd = z.infer<typeof Sshd>;

/** The desired configuration of a node's SSH server. */
export const NodeSshd = z.strictObject({
  hardening: z.literal(true),
  tcpForwarding: z.boolean().describe('Fairlead reaches other nodes through this one'),
});
export type NodeSshd = z.infer<typeof NodeSshd>;
