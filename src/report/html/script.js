(function () {
  "use strict";
  var command = document.getElementById("command");
  if (!command) return;
  var steps = Array.from(document.querySelectorAll("input[data-step]"));
  var files = Array.from(document.querySelectorAll("input[data-all]"));
  function spell() {
    var out = new Set(steps.filter(function (box) { return !box.checked; })
      .map(function (box) { return Number(box.dataset.step); }));
    var list = Array.from(out).sort(function (a, b) { return a - b; });
    command.textContent = "lifecycle apply " + command.dataset.plan + (list.length ? " --skip " + list.join(",") : "");
    files.forEach(function (box) {
      var numbers = box.dataset.all.split(" ").map(Number);
      var left = numbers.filter(function (n) { return out.has(n); }).length;
      box.checked = left < numbers.length;
      box.indeterminate = left > 0 && left < numbers.length;
    });
  }
  function set(n, on) {
    steps.forEach(function (box) { if (Number(box.dataset.step) === n) box.checked = on; });
  }
  document.addEventListener("change", function (event) {
    var box = event.target;
    if (box.dataset.step) set(Number(box.dataset.step), box.checked);
    if (box.dataset.all) box.dataset.all.split(" ").forEach(function (n) { set(Number(n), box.checked); });
    spell();
  });
  document.getElementById("copy").addEventListener("click", function () {
    if (navigator.clipboard) navigator.clipboard.writeText(command.textContent);
    else { var range = document.createRange(); range.selectNodeContents(command); getSelection().removeAllRanges(); getSelection().addRange(range); }
  });
  spell();
})();
