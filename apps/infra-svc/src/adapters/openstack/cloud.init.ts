/** What cloud-init does on a new server besides adding the SSH key. The name of the node is given by its agent, and stays over a reboot. */
const CLOUD_CONFIG = `#cloud-config
preserve_hostname: true
ssh_pwauth: false
`;

export const userData = (): string => Buffer.from(CLOUD_CONFIG).toString('base64');
