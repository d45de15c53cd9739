#!/bin/sh
# fetch.sh FOLDER: Keycloak itself from Maven Central, prepared for a database in memory. Does nothing if it is there.
set -eu
version=26.0.7
# That of the archive that Maven got on 2026-11-29, whose SHA-1 is that of the registry.
sha256=a6d770bbf55625781f1225a54a130839cdc1dd4ad5b3b4bbb18c9ac8bca8f8ae
home=$1/keycloak-$version
[ -e "$home" ] && exit 0
mkdir -p "$1"
partial=$(mktemp -d "$home.XXXXXX.partial")
trap 'rm -rf "$partial"' EXIT
archive=$partial/keycloak-quarkus-dist-$version.tar.gz
mvn -B -q org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
  -Dartifact=org.keycloak:keycloak-quarkus-dist:$version:tar.gz \
  -DoutputDirectory="$partial" -Dmaven.repo.local="$partial/repository"
echo "$sha256  $archive" | sha256sum --check --quiet
tar -xzf "$archive" -C "$partial"
JAVA=java JAVA_OPTS='-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx512m' "$partial/keycloak-$version/bin/kc.sh" build --db=dev-mem
# Another process may have been faster.
mv -T "$partial/keycloak-$version" "$home" 2>/dev/null || [ -e "$home" ]
