/**
 * The cloud-init configuration of a new server; OpenStack adds the SSH key. The agent sets the hostname, which must
 * survive a reboot.
 */
const CLOUD_CONFIG = `#cloud-config
preserve_hostname: true
ssh_pwauth: false
`;

export const userData = (): string => Buffer.from(CLOUD_CONFIG).toString('base64');
