import { gzipSync } from 'node:zlib';

/** The cloud-init configuration of a machine that is bootstrapped over SSH; EC2 adds the SSH key. */
const CLOUD_CONFIG = `#cloud-config
preserve_hostname: true
ssh_pwauth: false
`;

/** EC2 takes 16 KiB; cloud-init unpacks what is compressed. */
const BYTES_MAX = 16_384;

/** As EC2 takes it; undefined: it is too long. */
export const encodedUserData = (userData: string = CLOUD_CONFIG): string | undefined => {
  const plain = Buffer.from(userData);
  const bytes = plain.length <= BYTES_MAX ? plain : gzipSync(plain);
  return bytes.length <= BYTES_MAX ? bytes.toString('base64') : undefined;
};
