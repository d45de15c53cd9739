import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const openssl = (folder: string, ...args: readonly string[]) => run('openssl', [...args], { cwd: folder });

/** A site's own CA, and a server certificate by it for this subjectAltName. */
export const siteCertificates = async (
  folder: string,
  name: string,
): Promise<Record<'ca' | 'cert' | 'key', string>> => {
  const newKey = ['-newkey', 'rsa:2048', '-nodes', '-days', '2'];
  await openssl(
    folder,
    'req',
    '-x509',
    ...newKey,
    '-subj',
    '/CN=site authority',
    '-keyout',
    'ca.key',
    '-out',
    'ca.crt',
  );
  const subject = ['-subj', '/CN=mirror', '-addext', `subjectAltName=${name}`];
  const authority = ['-CA', 'ca.crt', '-CAkey', 'ca.key'];
  await openssl(folder, 'req', '-x509', ...newKey, ...subject, ...authority, '-keyout', 'tls.key', '-out', 'tls.crt');
  const text = (name: string) => run('cat', [join(folder, name)]).then(({ stdout }) => stdout);
  return { ca: await text('ca.crt'), cert: await text('tls.crt'), key: await text('tls.key') };
};
