import { mirrorPaths, NODE_BINARIES, type Architecture, type NodeBinary } from './mirror.js';

type Sha256OfBinaries = Readonly<Record<Architecture, Readonly<Record<NodeBinary, string>>>>;

/**
 * SHA-256 of the programs that the Kubernetes project released, as it publishes them beside its downloads. What is built from
 * source has other bytes: its digests are in the catalogue of its mirror.
 */
const KUBERNETES_SHA256: Readonly<Record<string, Sha256OfBinaries>> = {
  'v1.30.14': {
    amd64: {
      kubeadm: 'bf1f8af81af8ecf003cbc03a8700c6e94a74c183ee092bbc77b92270ada2be70',
      kubelet: '46baa60748b179164e80f5565d99dad642d554fb431925d211ffa921b917d5c7',
      kubectl: '7ccac981ece0098284d8961973295f5124d78eab7b89ba5023f35591baa16271',
    },
    arm64: {
      kubeadm: '8020618ad265918cbf0268afda624923587ac5d7545848a3029a77f6322093e4',
      kubelet: 'b70b2dbd8ab4e64deb8522eaf7eb01f038abba3cfad3b7dd20a9e354bbc1b9a5',
      kubectl: 'a32e46ae15fe41292dc6a7cd76beba7104282a5a3fa9e3686319000a537f4f5d',
    },
  },
  'v1.33.13': {
    amd64: {
      kubeadm: '0d7ba3cb4d8913305d0de966bdd9964f76942bc0274055eb7cb21f67bde4b2b9',
      kubelet: '0415ef7778646172f7aad830cbe09a7d903461eef9e15cd34193b85d95dfff0d',
      kubectl: '316d712726d857c20744c57cb36aa47cfc79bc0af7e82cebf3780244b654c073',
    },
    arm64: {
      kubeadm: '8b50c20ebe4600ee65bed74192c2595e89cd9b48e1f5e6e51cd8710d0b07902f',
      kubelet: 'db573f065eb9f9153b60270b209ea7992b79849ecac4387dbda88401fb2ed0ff',
      kubectl: '9fe8aadd5aab9421978c7ac95de6fad304a3c4c0ce9dbf4127579779e0699080',
    },
  },
  'v1.34.4': {
    amd64: {
      kubeadm: 'b967f1fa0e36621c402d38bb560eb4a943954d5cf5a00e5150842f6f5da73455',
      kubelet: '03b8fea715a7ef82eeaf518dee34c72670c57cc7bc40dc1320c04fbf4f15172f',
      kubectl: 'd50c359d95e0841eaad08ddc27c7be37cba8fdccfba5c8e2ded65e121ff112db',
    },
    arm64: {
      kubeadm: 'd8028b7e8c8d6c9b3fc3da6bc88d4d0cfb33df1b4b026a7d6e8c35d1471c9f6e',
      kubelet: 'c78845473c434ee85a2444eeab87f8b20f524e3ab6854a078f79468f44aad8f5',
      kubectl: '5b982c0644ab1e27780246b9085a5886651b4a7ed86243acbb2bacc1bea01dda',
    },
  },
  'v1.35.4': {
    amd64: {
      kubeadm: '0c0497da793f8897c14e45340da919534b615294a1aab69dc1998896c0f11145',
      kubelet: '983a6ba5a49823dcdd745c674e5e2416377dd27d6ad1b42d2befa0fb961a19f6',
      kubectl: 'b529430df69a688fd61b64ad2299edb5fd71cb58be2a4779dba624c7d3510efd',
    },
    arm64: {
      kubeadm: 'e8f6b5bee3e2c8b5965f4ae65c2ae04e3f9f426d2458a1e2f159e824d419d92c',
      kubelet: 'd710eef03bb4ad164bb77af9be5b11b44f874e2fc08153c7d383420d685f73e8',
      kubectl: '6a5a4cc4e396d7626a7a693a3044b51c75520f81db30fe6816c2554e53be336f',
    },
  },
  'v1.36.3': {
    amd64: {
      kubeadm: 'bba1733c701bf70ec74ba1cc3fd5745404c1134a8a4b0a5f8560cc9832023421',
      kubelet: '46707a53209f826ad0f0d62371ac69cd00e78fd9a8176cf5f6f87f18f7f8b718',
      kubectl: 'ebbd080e7c2e275093b55915722043257eb24004363e20acb3c4d71919f88336',
    },
    arm64: {
      kubeadm: '276cfbdc43b10fef663288cc1ed76abf77b1b7f700e9f1c053cb5dc3115484de',
      kubelet: '57205a5daf5883873d87b4914e1e00bdd7707acd075714788cfb0fc1f60bc414',
      kubectl: '3d86f24401c41ae5a46ac50eef8865fe891d3647d324a0836f6c63757a126e62',
    },
  },
};

/** The same of github.com/containernetworking/plugins. */
const CNI_PLUGINS_SHA256: Readonly<Record<string, Readonly<Record<Architecture, string>>>> = {
  'v1.9.1': {
    amd64: 'b98f74a0f8522f0a83867178729c1aa70f2158f90c45a2ca8fa791db1c76b303',
    arm64: '56171987d3947707c3563db2f4001bccaf50fd63468611b9f3cbecb1375ee7ec',
  },
};

const architecturesOf = <T>(of: Readonly<Record<Architecture, T>>): readonly (readonly [Architecture, T])[] => [
  ['amd64', of.amd64],
  ['arm64', of.arm64],
];

const PINNED: ReadonlyMap<string, string> = new Map([
  ...Object.entries(KUBERNETES_SHA256).flatMap(([version, of]) =>
    architecturesOf(of).flatMap(([architecture, digests]) =>
      NODE_BINARIES.map((name) => [mirrorPaths.binary(version, name, architecture), digests[name]] as const),
    ),
  ),
  ...Object.entries(CNI_PLUGINS_SHA256).flatMap(([version, of]) =>
    architecturesOf(of).map(
      ([architecture, sha256]) => [mirrorPaths.cniPlugins(version, architecture), sha256] as const,
    ),
  ),
]);

/** The SHA-256 that the release file at this path of the official layout must have; undefined: Fairlead has none. */
export const pinnedSha256 = (path: string): string | undefined => PINNED.get(path);
