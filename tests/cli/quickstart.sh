# SPDX-License-Identifier: BSD-2-Clause
# Where it cannot write, quickstart says so before it installs or builds anything.
cp "$cases/../../quickstart" .
mkdir quickstart.log            # root may write everywhere, but not to a folder
sh ./quickstart 2>err
echo "[$?]"
sed "s|$PWD|FOLDER|" err
