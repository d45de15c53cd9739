import { goldenBeside } from '@fairlead/testing/golden';
import { describe, expect, it } from '@jest/globals';
import { aptConfig, aptSourceLine } from './apt.config.js';
import { debianMirrors, DEBIAN_KEYRING } from './apt.sources.js';

const golden = goldenBeside(import.meta.url);

const oneLine = (text: string) => debianMirrors([{ name: '/etc/apt/sources.list', text }]).map(({ uri }) => uri);
const deb822 = (text: string) => debianMirrors([{ name: '/etc/apt/sources.list.d/debian.sources', text }]);

describe("the machine's Debian mirror", () => {
  it('is found in a one-line list, as written by the installer', () => {
    const list = `
# deb cdrom:[Debian GNU/Linux 12 _Bookworm_]/ bookworm main
deb http://near.mirror.example/debian/ bookworm main non-free-firmware # the nearest
deb-src http://near.mirror.example/debian/ bookworm main
deb http://security.mirror.example/debian-security bookworm-security main
deb [arch=amd64 signed-by=${DEBIAN_KEYRING}] https://mirror.example/debian bookworm-updates main`;
    expect(oneLine(list)).toEqual(['http://near.mirror.example/debian/', 'https://mirror.example/debian']);
  });

  it('is found in stanzas with comments, as written by images', () => {
    const stanzas = `Types: deb
# http://snapshot.example/archive/debian/20250520T000000Z
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: ${DEBIAN_KEYRING}

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
Signed-By: ${DEBIAN_KEYRING}
`;
    expect(deb822(stanzas)).toEqual([{ uri: 'http://mirror.example/debian', signedBy: DEBIAN_KEYRING }]);
  });

  it('is found in folded fields with several addresses and in a list of mirrors, as in cloud images', () => {
    const stanza = `Types: deb deb-src
URIs: mirror+file:///etc/apt/mirrors/debian.list
 https://mirror.example/debian/
Suites: bookworm
 bookworm-updates
Components:
 main contrib
`;
    expect(deb822(stanza).map(({ uri }) => uri)).toEqual([
      'mirror+file:///etc/apt/mirrors/debian.list',
      'https://mirror.example/debian/',
    ]);
  });

  it('keeps the keyring named by newer releases', () => {
    const signedBy = '/usr/share/keyrings/debian-archive-keyring.pgp';
    expect(
      deb822(
        `Types: deb\nURIs: http://mirror.example/debian\nSuites: trixie\nComponents: main\nSigned-By: ${signedBy}\n`,
      ),
    ).toEqual([{ uri: 'http://mirror.example/debian', signedBy }]);
  });

  it.each([
    [
      'another maker with a key of its own',
      'deb [signed-by=/usr/share/keyrings/docker.gpg] https://download.example/linux/debian bookworm main',
    ],
    ['a release that is not Debian’s', 'deb http://archive.ubuntu.com/ubuntu jammy main'],
    ['a repository without main', 'deb https://download.example/linux/debian bookworm stable'],
    ['one whose path is not the archive’s', 'deb https://dl.example/linux/chrome/deb/ stable main'],
    ['sources only', 'deb-src http://mirror.example/debian bookworm main'],
    ['a commented line', '#deb http://mirror.example/debian bookworm main'],
  ])('is not %s', (_what, line) => expect(oneLine(line)).toEqual([]));

  it('is not a disabled stanza', () =>
    expect(
      deb822('Enabled: no\nTypes: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\nComponents: main\n'),
    ).toEqual([]));
});

describe('the private apt', () => {
  it('has its own folders and none of the machine’s hooks', () => golden('apt.conf.golden', aptConfig('/tmp/work')));

  it('trusts one archive by the distribution’s keyring', () =>
    expect(aptSourceLine({ uri: 'http://mirror.example/debian', signedBy: DEBIAN_KEYRING }, 'forky')).toBe(
      `deb [signed-by=${DEBIAN_KEYRING}] http://mirror.example/debian forky main\n`,
    ));
});
