"""bias.py FILES: reports of fa-run whose output has 64 independent columns; is the mean error within 3 sigma of 0?"""
import json
import sys

for path in sys.argv[1:]:
    with open(path) as file:
        errors = json.load(file)["check"]["output"]
    sigma = errors["rms_error"] / 64**0.5
    verdict = "within 3 sigma" if 0 < errors["rms_error"] and abs(errors["mean_error"]) <= 3 * sigma else "BIASED"
    print("mean %.3g, sigma %.3g: %s" % (errors["mean_error"], sigma, verdict))
